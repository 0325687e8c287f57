// SPDX-License-Identifier: Apache-2.0
// One kernel for many that differ in numbers alone: the pieces of a wide concatenation, slices at
// other places. Device compilers take long for each kernel.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Fewer kernels than this stay as they are: their own numbers make quicker code.
inline constexpr int kLeastShared = 16;

// Where at least `least` kernels differ in literals alone (besides names and comments), one takes
// the numbers that differ from buffers that are filled at load, and is launched for all of them.
// Numbers that loops begin or end with, or that divide, are not taken: kernels stay different. What
// the steps compute is the same.
void ShareKernels(KernelList* list, int least = kLeastShared);

}  // namespace tartan::compiler
