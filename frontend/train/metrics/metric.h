// SPDX-License-Identifier: Apache-2.0
// The interface of a metric. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

class Metric {
 public:
  virtual ~Metric() = default;
  // Adds the first `count` rows of a batch: float32 outputs, and targets in the form of the loss.
  // InvalidArgument if the metric is undefined for such tensors.
  virtual absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) = 0;
  // Returns NaN if no row was added, an output is NaN, or the metric is undefined: an AUC with
  // examples of only one class, an R2 of equal targets.
  virtual double Value() const = 0;
  // Adds the values by name: Value() with `name`, or one value per class.
  virtual void Report(const std::string& name, std::map<std::string, double>* values) const {
    (*values)[name] = Value();
  }
};

}  // namespace tartan::train
