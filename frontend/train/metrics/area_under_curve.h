// SPDX-License-Identifier: Apache-2.0
// The area under the ROC curve. Internal to this folder.
#pragma once

#include <memory>

#include "frontend/train/metrics/metric.h"
#include "frontend/train/metrics/predictions.h"

namespace tartan::train {

// - Labels: the mean of the labels' areas.
// - Two classes: the area of class 1.
// - More classes: the mean of the areas of each class versus the rest, by the probabilities of the
//   softmax; by the outputs themselves for losses of other values.
std::unique_ptr<Metric> MakeAuc(const DecisionRule& rule);

}  // namespace tartan::train
