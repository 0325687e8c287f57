// SPDX-License-Identifier: Apache-2.0
// A whole run of training on a dataset: epochs, validation, checkpoints, an end before the last
// epoch where nothing gets better.
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
  // Columns of the data by what they are given to: inputs of the model that have a column of
  // another name. Otherwise an input takes the column of its name, or, of a model with one input,
  // the only column that is not the target.
  std::map<std::string, std::string> columns;
  std::string target;  // column; empty: "y", "label", "labels", "target" or "t"
  int64_t batch = 0;   // 0: what the model fixes, else 32
  int64_t epochs = 1;
  int64_t steps = 0;  // updates; 0: as many as the epochs have
  // Share of the examples, or their number from 1 on. Where the model fixes the batch, those that
  // do not fill one are left out.
  double validation = 0;
  std::shared_ptr<const data::Dataset> validation_data;  // instead; null: none
  bool shuffle = true;
  // Examples at the end of an epoch that do not fill a batch are left out. Else they are a smaller
  // batch, except where the model fixes the batch or gradients are accumulated.
  bool drop_last = false;
  bool check_data =
      true;  // a look at all data for NaN and labels out of range before the first step
  uint64_t seed = 0;
  double rate = 1e-3;
  Schedule schedule;
  std::vector<std::string>
      metrics;  // of the validation (metrics/metrics.h); by default what the loss suggests
  std::optional<double> threshold;  // of labels (metrics/predictions.h)
  int64_t log_every = 10;           // steps
  std::string checkpoint;           // folder for last.ckpt and best.ckpt; empty: none
  int64_t checkpoint_every = 0;     // updates; 0: at the end of each epoch
  bool resume = false;              // from last.ckpt, where there is one
  int64_t patience = 0;  // epochs without a better validation loss before the end; 0: goes on
};

struct LogLine {
  int64_t step = 0;   // updates so far
  int64_t steps = 0;  // of the run
  int64_t epoch = 0;  // from 1
  int64_t epochs = 0;
  double rate = 0;
  double loss = 0;  // mean since the last line
  // "accuracy" since the last line; at the end of an epoch "val_loss" and others of the validation.
  std::map<std::string, double> metrics;
  std::optional<double> loss_scale;  // where it is scaled
  int64_t left_out = 0;              // updates so far, as gradients were no finite numbers
  double step_ms = 0;                // mean of a step since the last line, without compiling
  bool is_epoch_end = false;
};

struct FitResult {
  int64_t steps = 0;  // updates, over all runs
  double median_step_ms = 0;
  bool was_stopped = false;               // by the caller
  bool ended_early = false;               // by patience
  bool is_best = false;                   // the parameters are those of the best validation
  std::map<std::string, double> metrics;  // of the last line
  std::optional<double> loss_scale;       // at the end
  int64_t left_out = 0;                   // updates, over all runs
};

struct FitHooks {
  std::function<void(const LogLine& line)> log;
  std::function<bool()> should_stop;  // asked after each step
  std::function<void()> compiled;     // once the first step is compiled and started
  std::function<void(const std::string& message)> note;
};

// Trains. Where it ends by patience, the parameters are those of the best epoch. What was learnt is
// saved before it returns, also when it was stopped and after an error of the data. Errors are
// those of Dataset, BatchLoader, Trainer and checkpoints.
absl::StatusOr<FitResult> Fit(Trainer& trainer, const onnx::OnnxModel& model,
                              std::shared_ptr<const data::Dataset> dataset,
                              const TrainerOptions& trainer_options, const FitOptions& options,
                              const FitHooks& hooks);

}  // namespace tartan::train
