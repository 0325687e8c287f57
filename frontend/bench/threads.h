// SPDX-License-Identifier: Apache-2.0
// Limits the number of threads of all engines.
#pragma once

#include "absl/status/status.h"

namespace tartan::bench {

// Limits PoCL, OpenMP (oneDNN) and OpenBLAS to `count` threads each, through environment variables,
// and the process to `count` processors. Waiting OpenMP threads release their processors soon. Call
// it before opening a device or making an engine, while the process has one thread.
absl::Status LimitThreads(int count);

}  // namespace tartan::bench
