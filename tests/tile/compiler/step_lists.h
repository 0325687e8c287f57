// SPDX-License-Identifier: Apache-2.0
// Lists of fills and copies, by which tests of memory tell what a list of steps does.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

inline constexpr int64_t kBytes = 1024;  // of each buffer

// Returns its number.
int AddBuffer(BufferKind kind, KernelList* list);

// The most bytes that are there at a time.
int64_t Peak(const KernelList& list);

// What each buffer holds after the steps, as the number of its origin: a fill, or what was there.
std::vector<double> Simulate(const KernelList& list);

}  // namespace tartan::compiler
