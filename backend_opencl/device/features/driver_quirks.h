// SPDX-License-Identifier: Apache-2.0
// Deviations of OpenCL drivers from the specification, with the reason for each workaround.
#pragma once

#include <cstdint>
#include <optional>

#include "hal/device_info.h"

namespace tartan::opencl {

// Bytes of a compute unit's local memory that the pool of a persistent kernel leaves free for
// launch records, roles and the L1 cache.
inline constexpr int64_t kOutsideMegakernelPool = 16 << 10;

struct DriverQuirks {
  // The driver's own cache of compiled kernels makes a second build from source fast, and its
  // program binaries cost more than they save. The files of that cache are stored instead
  // (pocl_program.h). See PoCL in README.md.
  bool relies_on_own_cache = false;
  // Upper bound of the local memory that a kernel may declare, if the device reports more.
  std::optional<int64_t> max_local_memory_bytes;
  // The driver crashes when it releases sub-buffers that partially overlap.
  bool overlapping_sub_buffers_crash = false;
  // A fill is fast only for a pattern of one byte; other patterns are stored one by one.
  bool fills_bytes_faster = false;
  // Short launches are faster as a batch: work-items on CPUs (launch_batch.h), work-groups on
  // GPUs (megakernel.h).
  bool batches_launches = false;
  // Bytes of local memory shared by the teams of a persistent kernel, if they may exceed the usual
  // limit of a kernel.
  int64_t megakernel_pool_bytes = 0;
};

DriverQuirks QuirksOf(const hal::DeviceInfo& info);

}  // namespace tartan::opencl
