// SPDX-License-Identifier: Apache-2.0
// Products that CPUs may compute with factors of bfloat16, two to a word.
#pragma once

#include <vector>

#include "tests/tile/compiler/matrix_programs.h"
#include "tile/base/hardware_settings.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan {

// Large enough to be worth it, of sizes that neither words nor vectors divide.
const std::vector<MatrixProgram>& BFloat16Programs();

// A CPU with vectors of `lanes` floats, with an instruction for such products or without.
HardwareSettings WordSettings(int64_t lanes, bool has_instruction);

// Where the precision allows it, products of floats are computed so, quick or not; of the plans of
// every kernel it gets number `candidate`, or the last.
compiler::CompileOptions OptionsForWords(const HardwareSettings& settings);
compiler::CompileHooks PlanForWords(const HardwareSettings& settings, int candidate);

// Kernels that add up products of such words.
int CountDots(const compiler::KernelList& list);

}  // namespace tartan
