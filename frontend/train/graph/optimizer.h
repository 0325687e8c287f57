// SPDX-License-Identifier: Apache-2.0
// Optimisers: compute a parameter's next value from the parameter, its gradient and stored
// averages. Formulas as in PyTorch's torch.optim; LAMB as in You et al. 2019.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

enum class OptimizerKind : uint8_t {
  kSgd,
  kMomentum,
  kNesterov,
  kRmsprop,
  kAdagrad,
  kAdam,
  kAdamW,
  kLion,
  kLamb,
};
absl::string_view Name(OptimizerKind kind);
// Parses "adamw"; InvalidArgument lists the names.
absl::StatusOr<OptimizerKind> OptimizerNamed(absl::string_view name);

struct Optimizer {
  OptimizerKind kind = OptimizerKind::kAdamW;
  // Weight decay: decoupled from the gradient in AdamW, Lion and LAMB, added to it in the others.
  double decay = 0;
  double momentum = 0.9;    // kMomentum and kNesterov
  double beta1 = 0.9;       // decay of gradient averages: Adam and variants
  double beta2 = 0.999;     // decay of averages of squared gradients; Lion usually has 0.99
  double smoothing = 0.99;  // decay of RMSprop's average of squares
  double epsilon = 1e-8;

  // InvalidArgument naming a value that is out of its range.
  absl::Status Check() const;
};

// Numbers that the host computes for each step, as float32[kStepScalarCount].
inline constexpr int64_t kStepScalarCount = 4;
// Returns in this order: the learning rate, two bias corrections of the averages (`step` counts
// from 1), the gradient factor.
std::vector<float> StepScalars(const Optimizer& optimizer, double rate, int64_t step,
                               double gradient_factor);

// The averages stored for each parameter: "momentum", "square"; float32 of the parameter's shape.
std::vector<std::string> SlotNames(const Optimizer& optimizer);

struct ParameterGroup {
  double rate_factor = 1;
  double decay_factor = 1;
};

struct Updated {
  api::Tensor parameter;
  std::vector<api::Tensor> slots;
};

// Returns the next values. `parameter` and `gradient` are float32 of equal shapes. `scale` is a
// float32 scalar that multiplies the gradient (clipping); undefined means 1. `enabled` is a bool
// scalar; if it is false, nothing changes; undefined means true.
absl::StatusOr<Updated> Update(const Optimizer& optimizer, const ParameterGroup& group,
                               const api::Tensor& parameter, const api::Tensor& gradient,
                               absl::Span<const api::Tensor> slots, const api::Tensor& numbers,
                               const api::Tensor& scale, const api::Tensor& enabled,
                               absl::string_view name);

}  // namespace tartan::train
