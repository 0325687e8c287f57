// SPDX-License-Identifier: Apache-2.0
// Loss functions: compare a model's output with the target for each example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

enum class LossKind : uint8_t {
  kSoftmaxCrossEntropy,  // scores [N, …, C]; integer classes [N, …], or probabilities [N, …, C]
  kBinaryCrossEntropy,  // logits and labels in [0, 1] of equal shapes
  kMse,                 // squared differences; this and the next two need equal shapes
  kMae,                 // absolute differences
  kHuber,               // quadratic up to `delta`, then linear
  kKl,                  // log-probabilities and probabilities, both [N, …, C]
  kCosine,              // 1 - cosine similarity of rows along the last dimension
  kTriplet,             // rows [3 N, D]: anchors, positives, negatives; no target
  kOutput,              // the output is the loss, one number or one per example
  kFunction,            // a Tile function
};
absl::string_view Name(LossKind kind);

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  double smoothing = 0;                 // label smoothing: each class gets smoothing / C
  std::optional<int64_t> ignore_index;  // examples of this class are ignored
  std::vector<double> class_weights;    // weight per class; empty: 1
  double delta = 1;                     // Huber: limit of the quadratic part
  double margin = 1;                    // triplet margin
  // For kFunction, (Y, T) -> (L): L is a number, or one per example.
  std::optional<api::Function> function;
};

// Parses "mse", "softmax_cross_entropy:smoothing=0.1,ignore=-100" or "@FILE". InvalidArgument names
// the unknown part; other errors come from the file.
absl::StatusOr<Loss> ParseLoss(absl::string_view text);

bool NeedsTarget(const Loss& loss);
// The number of classes for a target of class indices; nullopt for other losses and targets.
std::optional<int64_t> ClassCount(const Loss& loss, const TensorShape& output,
                                  const TensorShape& target);

// The loss of a batch is sum(numerator) / sum(denominator). Both are float32[N], with each
// example's terms and their weight.
struct LossTerms {
  api::Tensor numerator;
  api::Tensor denominator;
};

// InvalidArgument, naming both shapes, if output and target do not fit. `target` is undefined if
// the loss needs none.
absl::StatusOr<LossTerms> ApplyLoss(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target);
// The loss of the batch, a float32 scalar.
absl::StatusOr<api::Tensor> BatchLoss(const LossTerms& terms);

}  // namespace tartan::train
