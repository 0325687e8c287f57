// SPDX-License-Identifier: Apache-2.0
// How many threads all engines may use.
#pragma once

#include "absl/status/status.h"

namespace tartan::bench {

// Limits PoCL, OpenMP (oneDNN) and OpenBLAS to `count` threads each, through their environment
// variables, and the process to as many of the processors it may use now; threads of OpenMP that
// wait give their processors up soon. To be called before a
// device is opened or an engine made, while the process has one thread.
absl::Status LimitThreads(int count);

}  // namespace tartan::bench
