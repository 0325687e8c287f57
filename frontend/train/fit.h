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
#include "frontend/train/fit_options.h"
#include "frontend/train/trainer.h"

namespace tartan::train {

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
  double step_ms = 0;  // mean time of an update since the last line, without compilation
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
  // Converts errors of checkpoint files, for callers that report them differently.
  std::function<absl::Status(absl::Status)> file_error;
};

// Trains. After early stopping, the parameters come from the best epoch. Before returning, it saves
// the training state, also when stopped and after a data error; not if no step was made. Returns
// errors of Dataset, BatchLoader, Trainer and checkpoints.
absl::StatusOr<FitResult> Fit(Trainer& trainer, const onnx::OnnxModel& model,
                              std::shared_ptr<const data::Dataset> dataset,
                              const TrainerOptions& trainer_options, const FitOptions& options,
                              const FitHooks& hooks);

}  // namespace tartan::train
