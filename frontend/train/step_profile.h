// SPDX-License-Identifier: Apache-2.0
// Profiles training steps by kernel.
#pragma once

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/run_statistics.h"

namespace tartan::train {

class StepProfile {
 public:
  // Adds the kernels of one step. Steps of another program than the first step's are ignored.
  void Add(const api::DeviceProgram& program, std::vector<api::KernelProfile> kernels);
  // Adds the kernels of one update after the steps, if that is a program of its own.
  void AddUpdate(std::vector<api::KernelProfile> kernels) { update_.push_back(std::move(kernels)); }
  // Returns the kernels in launch order with their median times. The first step, which may include
  // page faults, counts only if there is no other.
  std::vector<api::KernelProfile> Medians() const;

 private:
  const api::DeviceProgram* program_ = nullptr;  // program of the first step
  std::vector<api::KernelProfile> kernels_;
  std::vector<std::vector<double>> times_;               // per kernel, one time per step
  std::vector<std::vector<api::KernelProfile>> update_;  // by update
};

}  // namespace tartan::train
