// SPDX-License-Identifier: Apache-2.0
// Generates the source of the kernel that executes a table of launches on a CPU
// (launch_batch.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::opencl {

inline constexpr char kLaunchBatchKernelName[] = "tartan_sequence";

// Integers per table entry: kernel case, first argument, work-items, work-items per piece, grid
// width, grid height, pieces.
inline constexpr int kWordsPerStep = 7;
// Kernel case of a copy of arguments[2] bytes. Its work-items are blocks of kBlockBytes.
inline constexpr int kCopyCase = -1;
inline constexpr int64_t kBlockBytes = 4096;  // bytes per work-item of a copy
// Counters per launch. The counters of taken and of finished pieces are in different cache lines.
inline constexpr int kCountersPerStep = 32;

// Addresses that the kernel writes to its fourth argument if its `end` is negative.
enum LaunchBatchAddress : uint8_t {
  kStepsAddress,
  kArgumentsAddress,
  kCountersAddress,
  kCodeAddress,  // address of tartan_run_steps; 0 if unknown
  kAddressCount
};
using LaunchBatchAddresses = std::array<uint64_t, kAddressCount>;
// Type of the compiled function that executes a table.
using LaunchBatchFunction = void (*)(const int32_t* steps, const uint64_t* arguments,
                                     int32_t* counters, int32_t begin, int32_t end, uint32_t run,
                                     int32_t alone);

// Returns the source for the batched kernels among `kernels`; "" if there are none.
std::string LaunchBatchSource(absl::Span<const hal::KernelSource> kernels);

// Number of kernels that the program of a source launches: the kernels outside batches, plus one
// for all batches.
int EntryPointCount(absl::Span<const hal::KernelSource> kernels);

}  // namespace tartan::opencl
