// SPDX-License-Identifier: Apache-2.0
// Measures a training step on the device at hand, for predictions of training on a cluster.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "distributed/plan/forms.h"
#include "frontend/cli/commands/precision_flags.h"
#include "frontend/cli/context.h"
#include "frontend/cli/model_inputs.h"
#include "frontend/train/trainer_options.h"

namespace tartan::cli {

struct StepFlags {
  std::string model;
  InputOptions inputs;
  int64_t batch = 0;  // 0: the batch size that the model fixes, otherwise 32
  std::string loss = "softmax_cross_entropy";
  std::string optimizer = "adamw";
  PrecisionFlags precision;
  train::TrainerOptions trainer;
  double seconds = 2;  // time of measuring
};

struct MeasuredStep {
  plan_cluster::TrainingProfile profile;
  std::string device;
  double parameters = 0;  // number of trained elements
};

// Trains on made inputs and targets as a rank without others: times steps as a whole, then kernel
// by kernel. Errors carry their stage.
absl::StatusOr<MeasuredStep> MeasureStep(StepFlags flags, const Context& context);

}  // namespace tartan::cli
