// SPDX-License-Identifier: Apache-2.0
// Decides whether a host thread that executes a launch batch wakes the driver's threads to share
// the work.
#pragma once

#include <cstdint>

namespace tartan::opencl {

// Compares the measured durations of executions with and without the driver's threads.
class HelpChoice {
 public:
  bool WantsHelp() const;
  void Note(bool had_help, int64_t nanoseconds);

 private:
  // Number of executions, and a smoothed duration in nanoseconds: the minimum of the first
  // executions, then a moving average.
  struct Way {
    uint32_t runs = 0;
    int64_t usual = 0;

    void Note(int64_t nanoseconds);
  };

  Way alone_, helped_;
};

}  // namespace tartan::opencl
