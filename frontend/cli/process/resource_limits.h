// SPDX-License-Identifier: Apache-2.0
// Resource limits of a run, for hosts that run models and data of others. SECURITY.md describes
// what they limit.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace tartan::cli {

// Limits of the process; 0: unlimited.
struct ResourceLimits {
  int64_t memory_bytes = 0;
  double seconds = 0;
  int64_t file_bytes = 0;  // size of a file that is read, and of data unpacked from a file
};

// Limits the whole process; call it once, before threads exist. On timeout the process ends with
// ExitCode::kInterrupted. The system limits memory (RLIMIT_DATA); $TARTAN_MAX_FILE_SIZE limits file
// sizes (tile/base/process_limits.h).
absl::Status ApplyLimits(const ResourceLimits& limits);

}  // namespace tartan::cli
