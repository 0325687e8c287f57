// SPDX-License-Identifier: Apache-2.0
// Joins the kernel lists of a program's parts into one list. A loop's body is compiled once, and
// its steps are repeated with other buffers: rows of tensors, and states that alternate between
// two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Values are numbered: the inputs of the program, then the results of each part in order.
struct ProgramPart {
  KernelList list;             // compiled without bounds checks
  std::vector<int> arguments;  // the value of each input
  // 0: the part runs once. Otherwise the list is the body of a loop. Its inputs are states, rows of
  // `slices` tensors along their first dimension, and values that stay. Its outputs are the next
  // states, then rows. The results of the part are the last states, then the stacked rows
  // [iterations, row_elements].
  int64_t iterations = 0;
  int states = 0;
  int slices = 0;
  bool reversed = false;  // the first iteration reads and writes the last row
  std::vector<int64_t> row_elements = {};
};

struct LinkedProgram {
  std::string name;
  std::vector<ProgramPart> parts;
  std::vector<BufferKind> inputs;
  std::vector<int> outputs;  // values
  // Per input: the output that is the next value of this state, or -1.
  std::vector<int> next;
};

// Every input is an argument of some part, and not only one whose rows are read. A part updates a
// state only if it is the last one.
absl::StatusOr<KernelList> LinkParts(LinkedProgram program, const CompileOptions& options);

}  // namespace tartan::compiler
