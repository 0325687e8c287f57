// SPDX-License-Identifier: Apache-2.0
// A step of training as lazy tensors: forward, loss, gradients and updates. Internal to this
// folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/augment.h"
#include "frontend/train/loss.h"
#include "frontend/train/optimizer.h"
#include "frontend/train/parameters.h"
#include "frontend/train/precision/precision.h"
#include "frontend/train/step_sums.h"

namespace tartan::train {

// What is fed to a step, in this order: the model's inputs that a batch gives, the target where
// there is one, the numbers of optimizer.h, the seed as often as something random takes it.
struct BatchShapes {
  std::vector<std::pair<std::string, TensorShape>> inputs;
  std::optional<TensorShape> target;
};

struct StepPlan {
  onnx::TrainingMode mode;
  Augmentations augment;
  std::string output;  // the value that the loss sees
  Loss loss;
  Optimizer optimizer;
  double clip_norm = 0;           // of all gradients together; 0: none
  double clip_value = 0;          // of each element; 0: none
  bool straight_through = false;  // gradients pass through what is quantised
  bool accumulates = false;       // gradients are added to sums, which another program applies
  Precision precision = Precision::kFloat32;
  std::optional<LossScale> loss_scale;
};

// A tensor that lies on the device from step to step.
struct StateSpec {
  std::string name;  // "parameter/w", "momentum/w", "gradient/w", "train/sums" …
  TensorShape shape;

  bool operator==(const StateSpec&) const = default;
};

inline constexpr char kSums[] = "train/sums";        // float32[kSumCount], step_sums.h
inline constexpr char kSkipped[] = "train/skipped";  // int32: steps since a loss was no number

struct StepGraph {
  std::vector<api::Tensor> inputs;
  std::vector<StateSpec> specs;  // of the states, in their order
  std::vector<api::ProgramState> states;
  std::vector<api::Tensor> outputs;
  int seeds = 0;
  std::optional<int64_t> classes;  // that the loss tells apart
};

// `parameters`: those that turn out to decide shapes are not trained from then on, and it is noted
// there. InvalidArgument and Unimplemented as from importing, ApplyLoss and api::Gradient, with the
// node.
absl::StatusOr<StepGraph> BuildStep(const onnx::OnnxModel& model,
                                    std::vector<Parameter>* parameters, const StepPlan& plan,
                                    const BatchShapes& shapes);
// Applies the gradients that steps have accumulated, and sets the sums to 0. Its input: the
// numbers.
absl::StatusOr<StepGraph> BuildApply(const std::vector<Parameter>& parameters,
                                     const StepPlan& plan);
// The loss of a batch without training. Outputs: numerator and denominator by example, what the
// loss sees.
absl::StatusOr<StepGraph> BuildEvaluation(const onnx::OnnxModel& model,
                                          std::vector<Parameter>* parameters, const StepPlan& plan,
                                          const BatchShapes& shapes);

// Of parameters, inputs and all values of the graph on the way to the loss, in this order: how many
// of their elements are no finite numbers. Outputs: int32 scalars, whose tensors `names` tells.
absl::StatusOr<StepGraph> BuildSearch(const onnx::OnnxModel& model,
                                      std::vector<Parameter>* parameters, const StepPlan& plan,
                                      const BatchShapes& shapes, std::vector<std::string>* names);

// The names of an initialiser's states.
std::string StateName(absl::string_view kind, absl::string_view parameter);

}  // namespace tartan::train
