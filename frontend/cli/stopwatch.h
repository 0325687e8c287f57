// SPDX-License-Identifier: Apache-2.0
// Wall-clock time since construction.
#pragma once

#include "tile/base/clock.h"

namespace tartan::cli {

class Stopwatch {
 public:
  double Milliseconds() const { return MillisecondsSince(start_); }

 private:
  Clock::time_point start_ = Clock::now();
};

}  // namespace tartan::cli
