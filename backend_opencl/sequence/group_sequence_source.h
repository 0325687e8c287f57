// SPDX-License-Identifier: Apache-2.0
// The text of the kernels that run a table of launches of groups (group_sequence.h).
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Goes through the table: of launches, state, and numbers: the first launch, the end of them, and
// words of the table for each launch. `state`: kStateWords zeros before the first run, which every
// run leaves as they were.
inline constexpr char kGroupSequenceKernel[] = "tartan_sequence";
// Writes the address of its first argument to its second.
inline constexpr char kAddressKernel[] = "tartan_tell_address";

inline constexpr int64_t kSequenceGroupItems = 512;  // of its work-groups
inline constexpr int64_t kMostGroups = 65535;
// Of a launch: the kernel's case, how many groups, width and height of their grid, and what the
// kernel's function takes. Case kCopyGroups: a copy, whose arguments are addresses and bytes.
inline constexpr int kHeadWords = 4;
inline constexpr int kMostWords = 64;
inline constexpr int kCopyGroups = -1;
inline constexpr int kStateWords = 128;

// For those of `kernels` that are run in sequences; "" where none is.
std::string GroupSequenceSource(absl::Span<const hal::KernelSource> kernels);

}  // namespace tartan::opencl
