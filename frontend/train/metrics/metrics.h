// SPDX-License-Identifier: Apache-2.0
// Metrics of prediction quality over all batches of a validation. Computed on the host in float64.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/train/metrics/predictions.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// The metrics by name, with scikit-learn's definitions. predictions.h defines labels and classes.
// - accuracy: share of rows whose class has the maximum score, or whose labels are all correct.
// - label_accuracy: share of correct labels.
// - top5: share of rows whose class is among the five maximum scores; any number works.
// - f1: F1 of the label if there is only one; otherwise f1_macro.
// - f1_macro: mean over the labels, or over the classes that occur or are predicted. A single label
//   counts as the classes 0 and 1. A label that neither occurs nor is predicted counts as 0.
// - f1_micro: F1 over all classes or labels together.
// - auc: area under the ROC curve of two classes or one label; mean over several labels.
// - mae, r2: computed over all elements.
class Metric {
 public:
  virtual ~Metric() = default;
  // Adds the first `count` rows of a batch: float32 outputs, and targets in the form of the loss.
  // InvalidArgument if the metric is undefined for such tensors.
  virtual absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) = 0;
  // Returns NaN if no row was added, an output is NaN, or the metric is undefined: an AUC with
  // examples of only one class, an R2 of equal targets.
  virtual double Value() const = 0;
};

// InvalidArgument for an unknown name, listing the names, or an invalid threshold.
absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name,
                                                   const DecisionRule& rule);

using NamedMetrics = std::vector<std::pair<std::string, std::unique_ptr<Metric>>>;
absl::StatusOr<NamedMetrics> MakeMetrics(const std::vector<std::string>& names,
                                         const DecisionRule& rule);

}  // namespace tartan::train
