// SPDX-License-Identifier: Apache-2.0
// How good predictions are, over all batches of a validation. Computed on the host in float64.
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

// A metric has a name. With labels and classes as predictions.h says:
//   accuracy        share of rows whose class has the maximal score, or whose labels are all right
//   label_accuracy  share of labels that are right
//   top5            share of rows whose class is among the five maximal scores; any number
//   f1              of the one label; else f1_macro
//   f1_macro        mean over the classes that occur or are predicted, or over the labels. One
//   label
//                   counts as the classes 0 and 1. A label that neither occurs nor is predicted is
//                   0
//   f1_micro        of all classes or labels together
//   auc             of two classes or one label; of several labels the mean
//   mae, r2         of all elements
// Definitions are scikit-learn's.
class Metric {
 public:
  virtual ~Metric() = default;
  // The first `count` rows of a batch: float32 outputs, and targets as the loss takes them.
  // InvalidArgument where the metric has no meaning for such tensors.
  virtual absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) = 0;
  // NaN where nothing was added, an output is NaN, or the metric is not defined: an AUC without
  // examples of both classes, an r2 of targets that are all equal.
  virtual double Value() const = 0;
};

// InvalidArgument listing the names, or for a threshold that is none.
absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name,
                                                   const DecisionRule& rule);

using NamedMetrics = std::vector<std::pair<std::string, std::unique_ptr<Metric>>>;
absl::StatusOr<NamedMetrics> MakeMetrics(const std::vector<std::string>& names,
                                         const DecisionRule& rule);

}  // namespace tartan::train
