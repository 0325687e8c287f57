// SPDX-License-Identifier: Apache-2.0
// Evaluates a model on data: the loss and the metrics. Internal to this folder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/batch_loader.h"
#include "frontend/train/feeds.h"
#include "frontend/train/metrics/metrics.h"
#include "frontend/train/trainer.h"

namespace tartan::train {

// Metrics by `names`, or the loss's own if there are no names. InvalidArgument as MakeMetrics.
absl::StatusOr<NamedMetrics> ValidationMetrics(const Loss& loss,
                                               const std::vector<std::string>& names,
                                               std::optional<double> threshold);

struct Validation {
  double loss = 0;  // weighted mean over the examples
  int64_t examples = 0;
  std::optional<int64_t> classes;        // number of classes of the loss
  std::map<std::string, double> values;  // "val_loss", and "val_" with each metric
};

// Evaluates one pass over the batches, and adds them to the metrics. Returns errors of BatchLoader,
// Trainer::Evaluate and Metric::Add.
absl::StatusOr<Validation> Validate(Trainer& trainer, const Feeds& feeds,
                                    std::shared_ptr<const data::Dataset> dataset,
                                    data::BatchOptions batches, const NamedMetrics& metrics);

// The same on the first rank. The others receive its result, without the metrics. `batches` has the
// size of the batch of all ranks.
absl::StatusOr<Validation> ValidateOnFirstRank(GradientExchange& ranks, Trainer& trainer,
                                               const Feeds& feeds,
                                               std::shared_ptr<const data::Dataset> dataset,
                                               data::BatchOptions batches,
                                               const NamedMetrics& metrics);

}  // namespace tartan::train
