// SPDX-License-Identifier: Apache-2.0
// Merges kernels that differ only in constants, such as slices at different offsets, to save time
// in device compilers.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Minimum number of similar kernels to merge; fewer keep their constants, which makes faster code.
inline constexpr int kMinShared = 16;

// Merges groups of `least` or more kernels that differ only in literals (besides names and
// comments). The merged kernel reads the differing numbers from buffers filled at load.
// Loop bounds and divisors are never replaced, so kernels that differ in them stay separate.
void ShareKernels(KernelList* list, int least = kMinShared);

}  // namespace tartan::compiler
