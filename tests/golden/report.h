// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of a program for a machine, as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tests/golden/machines.h"
#include "tests/golden/program_list.h"
#include "tile/ir/program.h"

namespace tartan::golden {

enum class KernelText {
  kHash,   // its number of lines and a hash
  kShown,  // in full, with a hash of the definitions it uses
  kAll,    // and those in full, too
};

// Plans, buffers, steps and kernels in OpenCL C: a section of a golden file.
absl::StatusOr<std::string> Report(const GoldenProgram& program, const ir::Program& bound,
                                   const Machine& machine, KernelText kernels);

// The sections of all machines.
absl::StatusOr<std::string> Report(const GoldenProgram& program, KernelText kernels);

}  // namespace tartan::golden
