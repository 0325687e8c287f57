// SPDX-License-Identifier: Apache-2.0
// Measures elapsed time with a monotonic clock.
#pragma once

#include <chrono>

namespace tartan {

using Clock = std::chrono::steady_clock;

inline double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace tartan
