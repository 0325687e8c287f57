// SPDX-License-Identifier: Apache-2.0
// Whether the driver's threads are asked to help with a sequence of launches that a waiting thread
// of the host runs.
#pragma once

#include <cstdint>

namespace tartan::opencl {

// Whether help is worth asking for, from how long runs took with and without it.
class HelpChoice {
 public:
  bool WantsHelp() const;
  void Note(bool had_help, int64_t nanoseconds);

 private:
  // Runs, and how long the last ones took in the mean, the first ones at least.
  struct Way {
    uint32_t runs = 0;
    int64_t usual = 0;

    void Note(int64_t nanoseconds);
  };

  Way alone_, helped_;
};

}  // namespace tartan::opencl
