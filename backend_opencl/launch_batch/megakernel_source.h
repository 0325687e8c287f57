// SPDX-License-Identifier: Apache-2.0
// Generates the source of the persistent kernel that executes a table of launches on a GPU
// (megakernel.h).
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Name of the persistent kernel. Its parameters are the table of launches, the state, and three
// integers: the first launch, the end of the launches, and the words per table entry. The state has
// kStateWords words, which are zero before and after each execution.
inline constexpr char kMegakernelName[] = "tartan_sequence";
// Name of a kernel that writes the address of its first argument to its second.
inline constexpr char kAddressKernel[] = "tartan_tell_address";

// Work-items per persistent work-group. With 256, each work-item has up to 255 registers, which the
// kernels of some plans need.
inline constexpr int64_t kMegakernelGroupItems = 256;
// Maximum number of persistent work-groups; the state counts them in 16 bits.
inline constexpr int64_t kMaxGroups = 65535;
// Words of a table entry before the arguments of the kernel's function.
enum LaunchWord : uint8_t {
  kCaseWord,          // number of the kernel
  kPiecesWord,        // work-groups of the launch
  kWidthWord,         // width of the grid, in work-groups
  kHeightWord,        // height of the grid, in work-groups
  kParticipantsWord,  // persistent work-groups that take part: one per piece, or 1
  kCallLaunchesWord,  // consecutive weight-stationary launches from this one on, executed by one
                      // function call
  kHasBarrierWord,    // 1: a grid barrier follows the launch; 0: its only work-group continues
                      // without one
  kHeadWords
};
// Maximum number of words in a table entry.
inline constexpr int kMaxWords = 64;
// Case of a copy. Its arguments are two addresses and a number of bytes; its work-groups copy
// pieces.
inline constexpr int kCopyGroups = -1;
// Words of the state buffer, whose counters are in separate cache lines.
inline constexpr int kStateWords = 128;

// Returns the source for the batched kernels among `kernels`; "" if there are none. Teams share
// `pool_bytes` of local memory (at least kMaxBatchLocalBytes). Kernels that fill a compute unit
// may use kMaxBatchFillingBytes.
std::string MegakernelSource(absl::Span<const hal::KernelSource> kernels, int64_t pool_bytes);

}  // namespace tartan::opencl
