// SPDX-License-Identifier: Apache-2.0
// The text of the kernel that goes through a table of launches (launch_sequence.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::opencl {

inline constexpr char kSequenceKernel[] = "tartan_sequence";

// The table has for each launch the kernel's case, its first argument, its work-items, how many are
// taken at once, the width and height of its grid, and how many pieces that makes. Case kCopyCase:
// a copy of arguments[2] bytes, whose work-items are blocks of kBlockBytes.
inline constexpr int kNumbersPerStep = 7;
inline constexpr int kCopyCase = -1;
inline constexpr int64_t kBlockBytes = 4096;
// What is taken and done of a launch is counted in cache lines of their own.
inline constexpr int kCountersPerStep = 32;

// What the kernel writes to its fourth argument where its `end` is less than 0: addresses.
enum SequencePlace : uint8_t {
  kPlaceOfSteps,
  kPlaceOfArguments,
  kPlaceOfCounters,
  kPlaceOfCode,  // of its function; 0: not known
  kPlaceCount
};
using SequencePlaces = std::array<uint64_t, kPlaceCount>;
// That function.
using SequenceFunction = void (*)(const int32_t* steps, const uint64_t* arguments,
                                  int32_t* counters, int32_t begin, int32_t end, uint32_t run,
                                  int32_t alone);

// The text of that kernel, for those of `kernels` that are run in sequences; "" where none is.
std::string SequenceSource(absl::Span<const hal::KernelSource> kernels);

// How many of the kernels of a source are launched by themselves.
int EntryPointCount(absl::Span<const hal::KernelSource> kernels);

}  // namespace tartan::opencl
