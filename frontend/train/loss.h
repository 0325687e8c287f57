// SPDX-License-Identifier: Apache-2.0
// Losses: what a model's output and the target say about each example.
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
  kSoftmaxCrossEntropy,  // scores [N, …, C]; classes [N, …] of integers, or probabilities [N, …, C]
  kBinaryCrossEntropy,  // logits and labels in [0, 1] of equal sizes
  kMse,                 // squares of differences; these and the next of equal sizes
  kMae,                 // absolute differences
  kHuber,               // squares up to `delta`, then straight
  kKl,                  // logarithms of probabilities [N, …, C]; probabilities of the same sizes
  kCosine,              // 1 - cosine of the angle between rows of the last dimension
  kTriplet,             // rows [3 N, D]: anchors, positives, negatives; no target
  kOutput,              // the output is the loss itself, one number or one for each example
  kFunction,            // a Tile function
};
absl::string_view Name(LossKind kind);

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  double smoothing = 0;                 // of classes: each has smoothing / C
  std::optional<int64_t> ignore_index;  // this class does not count
  std::vector<double> class_weights;    // by class; empty: 1
  double delta = 1;                     // of Huber
  double margin = 1;                    // of triplets
  // Of kFunction, (Y, T) -> (L): L is a number, or one for each example.
  std::optional<api::Function> function;
};

// "mse", "softmax_cross_entropy:smoothing=0.1,ignore=-100", "@FILE": InvalidArgument naming
// what is not known; else that of the file.
absl::StatusOr<Loss> ParseLoss(absl::string_view text);

bool NeedsTarget(const Loss& loss);
// Of classes given by number: how many there are. Nothing for other losses and targets.
std::optional<int64_t> ClassCount(const Loss& loss, const TensorShape& output,
                                  const TensorShape& target);

// The loss of a batch is sum(numerator) / sum(denominator), both float32[N] by example: an
// example's terms, and how much they count.
struct LossTerms {
  api::Tensor numerator;
  api::Tensor denominator;
};

// InvalidArgument where output and target do not fit, naming both shapes. `target` is undefined
// where none is needed.
absl::StatusOr<LossTerms> ApplyLoss(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target);
// That quotient, a float32 scalar.
absl::StatusOr<api::Tensor> BatchLoss(const LossTerms& terms);

}  // namespace tartan::train
