// SPDX-License-Identifier: Apache-2.0
// Options of a training run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/data/dataset.h"
#include "frontend/train/schedule.h"

namespace tartan::train {

struct FitOptions {
  // Columns by model input, for inputs whose column has another name. By default an input takes the
  // column of its name. The only input of a model takes the only column that is not the target.
  std::map<std::string, std::string> columns;
  std::string target;  // column; empty: "y", "label", "labels", "target" or "t"
  int64_t batch = 0;   // 0: the batch size that the model fixes, otherwise 32
  int64_t epochs = 1;
  int64_t steps = 0;  // number of updates; 0: as many as the epochs have
  // Share of the examples, or their number from 1 on. If the model fixes the batch size, examples
  // that do not fill a batch are skipped.
  double validation = 0;
  std::shared_ptr<const data::Dataset> validation_data;  // used instead of `validation`; null: none
  bool shuffle = true;
  // Drops examples at the end of an epoch that do not fill a batch. Otherwise they form a smaller
  // batch, unless the model fixes the batch size or gradients are accumulated.
  bool drop_last = false;
  // Checks all data for NaN and labels out of range before the first step.
  bool check_data = true;
  uint64_t seed = 0;
  double rate = 1e-3;
  Schedule schedule;
  // Evaluates the model on the validation data without training: logs one line of step 0. Without
  // validation data it evaluates all examples.
  bool evaluates = false;
  // Metrics of the validation (metrics/metrics.h); empty: the loss decides.
  std::vector<std::string> metrics;
  std::optional<double> threshold;  // threshold of labels (metrics/predictions.h)
  int64_t log_every = 10;           // steps between log lines
  std::string checkpoint;           // folder for last.ckpt and best.ckpt; empty: none
  int64_t checkpoint_every = 0;     // updates between checkpoints; 0: one at the end of each epoch
  // Resume from last.ckpt, if it exists. Model, data, loss, optimizer, schedule, seed and more must
  // be the same (run_facts.h); the batch size and rates may change.
  bool resume = false;
  // epochs without a better validation loss before stopping; 0: no early stopping
  int64_t patience = 0;

  // InvalidArgument for options that contradict each other.
  absl::Status Check() const;
};

}  // namespace tartan::train
