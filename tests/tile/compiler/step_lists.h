// SPDX-License-Identifier: Apache-2.0
// Kernel lists of fills and copies, with which tests of memory passes simulate a list's effect.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

inline constexpr int64_t kBytes = 1024;  // bytes per buffer

// Adds a buffer of kBytes and returns its index.
int AddBuffer(BufferKind kind, KernelList* list);

// Returns the peak number of bytes in use.
int64_t Peak(const KernelList& list);

// Returns each buffer's content after the steps: the value of a fill, or -1 - b for the initial
// content of buffer b.
std::vector<double> Simulate(const KernelList& list);

}  // namespace tartan::compiler
