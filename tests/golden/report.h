// SPDX-License-Identifier: Apache-2.0
// The compiler's output for one golden program on one machine, and its texts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/golden/machines.h"
#include "tests/golden/program_list.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/program.h"

namespace tartan::golden {

// One line of a plan, and whether it holds terms of the cost model.
struct PlanLine {
  std::string text;
  bool is_cost = false;
};

struct Output {
  std::string machine;
  std::vector<PlanLine> plans;
  std::string candidates;  // empty: the program requests none
  compiler::KernelList list;
  codegen::ProgramText source;  // OpenCL C
};

absl::StatusOr<Output> CompileFor(const ir::Program& bound, const GoldenProgram& program,
                                  const Machine& machine);

enum class Costs { kHidden, kShown };

// Everything: plans, buffers, launches, and kernels with the functions they use.
std::string FullText(const Output& output, Costs costs);

// The section of an expected file: plans, launches with the hash of each kernel, and the hash of
// the full text without costs. On the program's full machine also buffers, and kernels if shown.
std::string Section(const Output& output, const GoldenProgram& program);

// Line count and XXH3 hash of a text: "12 lines, 0123456789abcdef".
std::string Digest(absl::string_view text);

}  // namespace tartan::golden
