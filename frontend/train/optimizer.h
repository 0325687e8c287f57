// SPDX-License-Identifier: Apache-2.0
// Optimisers: what one step makes of a parameter, its gradient and the averages that are kept for
// it. Formulas are those of PyTorch's torch.optim, LAMB's that of You et al. 2019.
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
// "adamw"; InvalidArgument lists the names.
absl::StatusOr<OptimizerKind> OptimizerNamed(absl::string_view name);

struct Optimizer {
  OptimizerKind kind = OptimizerKind::kAdamW;
  // Weight decay: decoupled from the gradient in AdamW, Lion and LAMB, added to it in the others.
  double decay = 0;
  double momentum = 0.9;    // of momentum and Nesterov
  double beta1 = 0.9;       // averages of the gradient: Adam and its kin
  double beta2 = 0.999;     // of its squares; Lion: 0.99 is usual
  double smoothing = 0.99;  // of RMSprop's average of squares
  double epsilon = 1e-8;

  // Values in their ranges; InvalidArgument naming the one that is not.
  absl::Status Check() const;
};

// What a step needs beside parameters and gradients: numbers that the host computes, in this order,
// as float32[kStepNumbers].
inline constexpr int64_t kStepNumbers = 4;
// The rate, the factors that correct the averages of a first few steps (step counts from 1), the
// factor of gradients.
std::vector<float> StepNumbers(const Optimizer& optimizer, double rate, int64_t step,
                               double gradient_factor);

// The averages kept for each parameter: "momentum", "square"; float32 of the parameter's sizes.
std::vector<std::string> SlotNames(const Optimizer& optimizer);

struct ParameterGroup {
  double rate_factor = 1;
  double decay_factor = 1;
};

struct Updated {
  api::Tensor parameter;
  std::vector<api::Tensor> slots;
};

// The next values. `parameter` and `gradient` are float32 of equal sizes; `scale`, a float32
// scalar, is multiplied to the gradient (clipping), undefined for 1; `enabled`, a bool scalar,
// keeps everything as it is where it is false, undefined for true.
absl::StatusOr<Updated> Update(const Optimizer& optimizer, const ParameterGroup& group,
                               const api::Tensor& parameter, const api::Tensor& gradient,
                               absl::Span<const api::Tensor> slots, const api::Tensor& numbers,
                               const api::Tensor& scale, const api::Tensor& enabled,
                               absl::string_view name);

}  // namespace tartan::train
