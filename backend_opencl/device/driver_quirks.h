// SPDX-License-Identifier: Apache-2.0
// Where OpenCL drivers differ from what the specification lets one expect, with the reasons.
#pragma once

#include <cstdint>
#include <optional>

#include "hal/device_info.h"

namespace tartan::opencl {

// Of a compute unit's local memory, what a sequence's pool leaves: for its launches and roles, and
// to the cache.
inline constexpr int64_t kOutsideSequencePool = 16 << 10;

struct DriverQuirks {
  // The driver's own cache of compiled kernels makes a second build from source quick, while the
  // binaries it hands out cost more than they save: the files of that cache are kept instead
  // (pocl_program.h). See PoCL in README.md.
  bool relies_on_own_cache = false;
  // Upper bound of the local memory a kernel may declare, where the device reports more.
  std::optional<int64_t> max_local_memory_bytes;
  // The driver crashes in releasing sub-buffers that overlap in part.
  bool overlapping_sub_buffers_crash = false;
  // Buffers are filled pattern by pattern, but in one sweep where the pattern is a byte.
  bool fills_bytes_faster = false;
  // Short launches are quicker as parts of one: items of CPUs (launch_sequence.h), groups of GPUs
  // (group_sequence.h).
  bool runs_sequences = false;
  // Local memory that teams of a sequence of groups share, where it may be more than a kernel
  // usually declares.
  int64_t sequence_pool_bytes = 0;
};

DriverQuirks QuirksOf(const hal::DeviceInfo& info);

}  // namespace tartan::opencl
