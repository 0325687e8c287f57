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
  std::vector<std::vector<double>> all = times_;
  if (!update_.empty()) {
    medians.insert(medians.end(), update_[0].begin(), update_[0].end());
    for (size_t k = 0; k < update_[0].size(); ++k) {
      std::vector<double>& times = all.emplace_back();
      for (const std::vector<api::KernelProfile>& update : update_) times.push_back(update[k].ms);
    }
  }
  for (size_t k = 0; k < medians.size(); ++k) {
    std::vector<double>& times = all[k];
    if (times.size() > 1) times.erase(times.begin());
    const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    medians[k].ms = *middle;
  }
  return medians;
}

}  // namespace tartan::train
