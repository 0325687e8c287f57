// SPDX-License-Identifier: Apache-2.0
// Reports the compiler's output for a program and a machine as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tests/golden/machines.h"
#include "tests/golden/program_list.h"
#include "tile/ir/program.h"

namespace tartan::golden {

enum class KernelText {
  kHash,   // line count and hash of each kernel
  kShown,  // kernels in full, and a hash of the definitions they use
  kAll,    // kernels and definitions in full
};

// Returns one section of a golden file: plans, buffers, steps and kernels in OpenCL C.
absl::StatusOr<std::string> Report(const GoldenProgram& program, const ir::Program& bound,
                                   const Machine& machine, KernelText kernels);

// Returns the sections of all machines.
absl::StatusOr<std::string> Report(const GoldenProgram& program, KernelText kernels);

}  // namespace tartan::golden
