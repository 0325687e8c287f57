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

// Of its work-groups: each has up to 255 registers, which the kernels of some plans need.
inline constexpr int64_t kSequenceGroupItems = 256;
inline constexpr int64_t kMostGroups = 65535;
// Words of a launch in the table, before what the kernel's function takes.
enum LaunchWord : uint8_t {
  kCaseWord,     // of the kernel
  kPiecesWord,   // its groups
  kWidthWord,    // of their grid
  kHeightWord,   // of their grid
  kSharersWord,  // how many of the sequence's groups have a share: as many as pieces, or one
  kRunWord,      // launches of a run from this one on, which the kernel's function does at once
  kMeetsWord,    // 1: its work is done before the next launch begins; 0: the group that has it goes
                 // on
  kHeadWords
};
inline constexpr int kMostWords = 64;
// A copy, whose arguments are addresses and bytes, and whose groups are pieces of it.
inline constexpr int kCopyGroups = -1;
inline constexpr int kStateWords = 128;

// For those of `kernels` that are run in sequences; "" where none is. Teams share `pool_bytes` of
// local memory, at least kMostSequenceLocalBytes; those that fill a unit, which take more,
// kMostSequenceFillingBytes.
std::string GroupSequenceSource(absl::Span<const hal::KernelSource> kernels, int64_t pool_bytes);

}  // namespace tartan::opencl
