// SPDX-License-Identifier: Apache-2.0
// Wall-clock time since construction.
#pragma once

#include <chrono>

namespace tartan::cli {

class Stopwatch {
 public:
  double Milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tartan::cli
