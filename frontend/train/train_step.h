// SPDX-License-Identifier: Apache-2.0
// Builds a training step from lazy tensors: forward pass, loss, gradients, updates. Internal to
// this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/augment.h"
#include "frontend/train/graph/loss.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/precision/precision.h"
#include "frontend/train/step_sums.h"

namespace tartan::train {

// The inputs of a step, in this order: the model inputs that a batch provides, the target if there
// is one, the numbers of optimizer.h, and one copy of the seed per consumer.
struct BatchShapes {
  std::vector<std::pair<std::string, TensorShape>> inputs;
  std::optional<TensorShape> target;
};

struct StepPlan {
  onnx::TrainingMode mode;
  Augmentations augment;
  std::string output;  // the value that the loss is applied to
  Loss loss;
  Optimizer optimizer;
  double clip_norm = 0;           // limit of the norm of all gradients; 0: none
  double clip_value = 0;          // limit of each element; 0: none
  bool straight_through = false;  // gradients pass unchanged through quantisation
  bool accumulates = false;       // gradients are added to sums, which another program applies
  bool joins = false;             // these are sums over several ranks (ranks/joined_sums.h)
  bool replaces_sums = false;     // of one batch, so that a step overwrites the sums; with joins
  DataType sum_type = DataType::kFloat32;  // of gradients in states; other ones with replaces_sums
  bool shards = false;             // the update has a part of each parameter (ranks/shard.h)
  bool sparse_embeddings = false;  // as in TrainerOptions
  Precision precision = Precision::kFloat32;
  std::optional<LossScale> loss_scale;

  TensorShape SumShape(const TensorShape& parameter) const { return {sum_type, parameter.dims}; }
  // True if the update of a part of the gradients needs the norms of all (ranks/norms.h).
  bool NeedsNorms() const { return shards && (clip_norm > 0 || loss_scale.has_value()); }
};

// A tensor that stays on the device between steps.
struct StateSpec {
  std::string name;  // "parameter/w", "momentum/w", "gradient/w", "train/sums" …
  TensorShape shape;

  bool operator==(const StateSpec&) const = default;
};

inline constexpr char kSums[] = "train/sums";        // float32[kSumCount], step_sums.h
inline constexpr char kSkipped[] = "train/skipped";  // int32: steps since a loss was not finite

struct StepGraph : api::ProgramGraph {
  std::vector<StateSpec> specs;  // specs of `states`, in order
  int seeds = 0;
  Precision precision = Precision::kFloat32;  // storage type of its values
  std::optional<int64_t> classes;             // number of classes of the loss
};

// Parameters that decide shapes cannot be trained; they are marked in `parameters`. InvalidArgument
// and Unimplemented as from importing, ApplyLoss and api::Gradient, with the node.
absl::StatusOr<StepGraph> BuildStep(const onnx::OnnxModel& model,
                                    std::vector<Parameter>* parameters, const StepPlan& plan,
                                    const BatchShapes& shapes);
// Applies accumulated gradients and resets the sums to 0. Its input is the step numbers.
absl::StatusOr<StepGraph> BuildApply(std::vector<Parameter> parameters, const StepPlan& plan);
// Computes the loss of a batch without training. Outputs: numerator and denominator per example,
// the value that the loss is applied to.
absl::StatusOr<StepGraph> BuildEvaluation(const onnx::OnnxModel& model,
                                          std::vector<Parameter>* parameters, const StepPlan& plan,
                                          const BatchShapes& shapes);

// Counts the non-finite elements of parameters, inputs and all graph values that the loss depends
// on, in this order. Outputs are int32 scalars; `names` has the tensor of each.
absl::StatusOr<StepGraph> BuildSearch(const onnx::OnnxModel& model,
                                      std::vector<Parameter>* parameters, const StepPlan& plan,
                                      const BatchShapes& shapes, std::vector<std::string>* names);

// The name of a state of an initialiser.
std::string StateName(absl::string_view kind, absl::string_view parameter);

}  // namespace tartan::train
