// SPDX-License-Identifier: Apache-2.0
// How good predictions are, over all batches of a validation. Computed on the host in float64.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// Of one name: "accuracy", "top5" (any number), "f1" (macro average over the classes that occur),
// "auc" (of two classes: by the score of class 1, or the only score), "mae", "r2".
class Metric {
 public:
  virtual ~Metric() = default;
  // The first `count` rows of a batch: float32 outputs, and targets as the loss takes them.
  // InvalidArgument where the metric has no meaning for such tensors.
  virtual absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) = 0;
  virtual double Value() const = 0;  // NaN where nothing was added
};

// InvalidArgument listing the names.
absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name);

}  // namespace tartan::train
