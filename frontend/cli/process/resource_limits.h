// SPDX-License-Identifier: Apache-2.0
// What a run may take at most: for hosts of models and data that others wrote. SECURITY.md says
// what they bound.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace tartan::cli {

// 0: not bounded.
struct ResourceLimits {
  int64_t memory_bytes = 0;
  double seconds = 0;
  int64_t file_bytes = 0;  // of a file that is read, and of what is unpacked from one
};

// Bounds the whole process, once, before it has threads. When the time is up the process ends with
// ExitCode::kInterrupted. Memory is bounded by the system (RLIMIT_DATA), the size of files by
// $TARTAN_MAX_FILE_SIZE (tile/base/process_limits.h).
absl::Status ApplyLimits(const ResourceLimits& limits);

}  // namespace tartan::cli
