// SPDX-License-Identifier: Apache-2.0
// Trains a model on a dataset: epochs, validation, checkpoints, early stopping.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"
#include "frontend/train/schedule.h"
#include "frontend/train/trainer.h"

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
  // Metrics of the validation (metrics/metrics.h); empty: the loss decides.
  std::vector<std::string> metrics;
  std::optional<double> threshold;  // threshold of labels (metrics/predictions.h)
  int64_t log_every = 10;           // steps between log lines
  std::string checkpoint;           // folder for last.ckpt and best.ckpt; empty: none
  int64_t checkpoint_every = 0;     // updates between checkpoints; 0: one at the end of each epoch
  bool resume = false;              // resume from last.ckpt, if it exists
  // epochs without a better validation loss before stopping; 0: no early stopping
  int64_t patience = 0;
};

struct LogLine {
  int64_t step = 0;   // updates so far
  int64_t steps = 0;  // total of the run
  int64_t epoch = 0;  // counts from 1
  int64_t epochs = 0;
  double rate = 0;
  double loss = 0;  // mean since the last line
  // "accuracy" since the last line; at the end of an epoch "val_loss" and other validation metrics.
  std::map<std::string, double> metrics;
  std::optional<double> loss_scale;  // set if the loss is scaled
  int64_t left_out = 0;              // updates skipped so far because of non-finite gradients
  double step_ms = 0;                // mean step time since the last line, without compilation
  bool is_epoch_end = false;
};

struct FitResult {
  int64_t steps = 0;  // updates, over all runs
  double median_step_ms = 0;
  bool was_stopped = false;               // stopped by the caller
  bool ended_early = false;               // early stopping by `patience`
  bool is_best = false;                   // the parameters come from the best validation
  std::map<std::string, double> metrics;  // metrics of the last line
  std::optional<double> loss_scale;       // final scale
  int64_t left_out = 0;                   // skipped updates, over all runs
};

struct FitHooks {
  std::function<void(const LogLine& line)> log;
  std::function<bool()> should_stop;  // called after each step
  std::function<void()> compiled;     // called after the first step is compiled and started
  std::function<void(const std::string& message)> note;
};

// Trains. After early stopping, the parameters come from the best epoch. Before returning, it saves
// the training state, also when stopped and after a data error. Returns errors of Dataset,
// BatchLoader, Trainer and checkpoints.
absl::StatusOr<FitResult> Fit(Trainer& trainer, const onnx::OnnxModel& model,
                              std::shared_ptr<const data::Dataset> dataset,
                              const TrainerOptions& trainer_options, const FitOptions& options,
                              const FitHooks& hooks);

}  // namespace tartan::train
