// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/driver_quirks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tile/base/sequence_limits.h"

namespace tartan::opencl {

namespace {

constexpr int64_t kMostPool = 192 << 10;

}  // namespace

DriverQuirks QuirksOf(const hal::DeviceInfo& info) {
  DriverQuirks quirks;
  quirks.relies_on_own_cache = absl::StrContains(info.platform, "Portable Computing Language");
  // 94 MB of zeros: 32 ms as numbers of four bytes, 11 ms as bytes (PoCL 3.1).
  quirks.fills_bytes_faster = quirks.relies_on_own_cache;
  // A launch takes its CPU devices 4 to 14 us. Intel's runtime takes 2, and three times as long to
  // compile a kernel that holds others.
  quirks.runs_sequences = quirks.relies_on_own_cache && info.type == hal::DeviceType::kCpu;
  if (absl::StrContains(info.vendor, "NVIDIA")) {
    // A launch takes the host 5 us, and a GPU that goes on by itself 1 (H200, 580.159).
    quirks.runs_sequences = info.type == hal::DeviceType::kGpu;
    // The driver reports what a CUDA kernel may opt in to; OpenCL kernels get 48 KiB.
    quirks.max_local_memory_bytes = 48 * 1024;
    // But arrays that are larger build and run all the same (580.159). A unit runs one group of a
    // sequence, which may have most of the memory there is.
    quirks.sequence_pool_bytes = std::clamp(info.settings.local_memory_bytes - kOutsideSequencePool,
                                            kMostSequenceLocalBytes, kMostPool);
    // Seen with 580.159: once both have been used, clReleaseMemObject of the one made first ends in
    // a null pointer. Parts with the same range are safe.
    quirks.overlapping_sub_buffers_crash = true;
  }
  return quirks;
}

}  // namespace tartan::opencl
