// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/driver_quirks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tile/base/launch_batch_limits.h"

namespace tartan::opencl {

namespace {

// Maximum bytes of local memory for the teams of a persistent kernel.
constexpr int64_t kMaxPoolBytes = 192 << 10;

}  // namespace

DriverQuirks QuirksOf(const hal::DeviceInfo& info) {
  DriverQuirks quirks;
  quirks.relies_on_own_cache = absl::StrContains(info.platform, "Portable Computing Language");
  // Filling 94 MB with zeros takes 32 ms with a 4-byte pattern and 11 ms with bytes (PoCL 3.1).
  quirks.fills_bytes_faster = quirks.relies_on_own_cache;
  // A launch costs 4 to 14 us on PoCL's CPU devices. Intel's runtime needs 2 us, and compiles a
  // kernel that contains other kernels three times as slowly.
  quirks.batches_launches = quirks.relies_on_own_cache && info.type == hal::DeviceType::kCpu;
  if (absl::StrContains(info.vendor, "NVIDIA")) {
    // A launch costs the host 5 us, a grid barrier on the GPU 1 us (H200, driver 580.159).
    quirks.batches_launches = info.type == hal::DeviceType::kGpu;
    // The driver reports the opt-in limit of CUDA, but OpenCL kernels get 48 KiB.
    quirks.max_local_memory_bytes = 48 * 1024;
    // Larger arrays compile and run nevertheless (580.159). A compute unit runs one persistent
    // work-group, which may use most of the local memory.
    quirks.megakernel_pool_bytes =
        std::clamp(info.settings.local_memory_bytes - kOutsideMegakernelPool, kMaxBatchLocalBytes,
                   kMaxPoolBytes);
    // Sub-buffers with identical ranges are safe. Otherwise, driver 580.159 dereferences a null
    // pointer in clReleaseMemObject of the sub-buffer created first, after both have been used.
    quirks.overlapping_sub_buffers_crash = true;
  }
  return quirks;
}

}  // namespace tartan::opencl
