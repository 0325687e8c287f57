// SPDX-License-Identifier: Apache-2.0
// Where the time of steps goes.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/run_statistics.h"

namespace tartan::train {

class StepProfile {
 public:
  // The kernels of one more step. Those of another program than the first step's are not counted.
  void Add(const api::DeviceProgram& program, std::vector<api::KernelProfile> kernels);
  // With the median of their times, in the order of their launches. The first step, which may have
  // paid for touching memory, counts where it is the only one.
  std::vector<api::KernelProfile> Medians() const;

 private:
  const api::DeviceProgram* program_ = nullptr;  // of the first step
  std::vector<api::KernelProfile> kernels_;
  std::vector<std::vector<double>> times_;  // of each kernel, by steps
};

}  // namespace tartan::train
