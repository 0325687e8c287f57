// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/step_profile.h"

#include <algorithm>
#include <utility>

namespace tartan::train {

void StepProfile::Add(const api::DeviceProgram& program, std::vector<api::KernelProfile> kernels) {
  if (program_ == nullptr) {
    program_ = &program;
    times_.resize(kernels.size());
    kernels_ = kernels;
  }
  if (program_ != &program || kernels.size() != times_.size()) return;
  for (size_t k = 0; k < kernels.size(); ++k) times_[k].push_back(kernels[k].ms);
}

std::vector<api::KernelProfile> StepProfile::Medians() const {
  std::vector<api::KernelProfile> medians = kernels_;
  for (size_t k = 0; k < medians.size(); ++k) {
    std::vector<double> times = times_[k];
    if (times.size() > 1) times.erase(times.begin());
    const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    medians[k].ms = *middle;
  }
  return medians;
}

}  // namespace tartan::train
