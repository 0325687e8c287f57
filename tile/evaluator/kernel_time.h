// SPDX-License-Identifier: Apache-2.0
// The measured time of one launch.
#pragma once

#include <string>

namespace tartan::evaluator {

struct KernelTime {
  std::string kernel;
  std::string description;
  double ms = 0;
  double flops = 0;
  double bytes = 0;
};

}  // namespace tartan::evaluator
