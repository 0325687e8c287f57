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
#include "frontend/train/metrics/metric.h"
#include "frontend/train/metrics/predictions.h"

namespace tartan::train {

// The metrics by name, with scikit-learn's definitions. predictions.h defines labels and classes.
// - accuracy: share of rows whose class has the maximum score, or whose labels are all correct.
// - label_accuracy: share of correct labels.
// - top5: share of rows whose class is among the five maximum scores; any number works.
// - f1, dice: 2 right / (actual + predicted). iou: right / (actual + predicted - right), the
// Jaccard
//   index. They are of the label if there is only one; otherwise means as f1_macro.
// - f1_macro: mean over the labels, or over the classes that occur or are predicted. A single label
//   counts as the classes 0 and 1. A label that neither occurs nor is predicted counts as 0.
// - f1_micro: F1 over all classes or labels together.
// - f1_per_class: the values "f1_0", "f1_1" … of the classes or labels; 0 as for f1_macro. dice and
//   iou have these three forms, too.
// - auc: area under the ROC curve (area_under_curve.h).
// - mae, rmse, r2: computed over all elements.
//
// InvalidArgument for an unknown name, listing the names, or an invalid threshold.
absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name,
                                                   const DecisionRule& rule);

using NamedMetrics = std::vector<std::pair<std::string, std::unique_ptr<Metric>>>;
absl::StatusOr<NamedMetrics> MakeMetrics(const std::vector<std::string>& names,
                                         const DecisionRule& rule);

}  // namespace tartan::train
