// SPDX-License-Identifier: Apache-2.0
// Test programs of matmuls that CPUs may compute with bfloat16 factors, two per 32-bit word.
#pragma once

#include <vector>

#include "tests/tile/compiler/matrix_programs.h"
#include "tile/base/hardware_settings.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan {

// Matmuls large enough to benefit, with odd sizes that words and vectors do not divide.
const std::vector<MatrixProgram>& BFloat16Programs();

// Settings of a CPU with vectors of `lanes` floats, with or without a bfloat16 dot instruction.
HardwareSettings BFloat16Settings(int64_t lanes, bool has_instruction);

// Options and hooks that compute float32 matmuls with bfloat16 factors regardless of cost. Every
// kernel gets the plan candidate with index `candidate`, or the last one.
compiler::CompileOptions OptionsForBFloat16(const HardwareSettings& settings);
compiler::CompileHooks PlanForBFloat16(const HardwareSettings& settings, int candidate);

// Counts the kernels that use the bfloat16 dot operation.
int CountDots(const compiler::KernelList& list);

}  // namespace tartan
