// SPDX-License-Identifier: Apache-2.0
// Loss functions: kinds, options, and the shapes of outputs and targets.
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
  // Scores [N, …, C] or [N, C, …]; integer classes [N, …], or probabilities of the scores' shape.
  kSoftmaxCrossEntropy,
  kBinaryCrossEntropy,  // logits and labels in [0, 1]; shapes as of FitsElements
  kMse,                 // squared differences; this and the next two: shapes as of FitsElements
  kMae,                 // absolute differences
  kHuber,               // quadratic up to `delta`, then linear
  kFocal,               // cross entropy that counts easy examples less; classes or labels
  kDice,                // overlap of masks; classes or labels
  kCtc,                 // scores [N, T, C] and class indices [N, S] without an alignment
  kKl,                  // log-probabilities and probabilities, both [N, …, C]
  kCosine,              // 1 - cosine similarity of rows [N, …, C]
  kTriplet,             // rows [3 N, D]: anchors, positives, negatives; no target
  kOutput,              // the output is the loss, one number or one per example
  kFunction,            // a Tile function
};
absl::string_view Name(LossKind kind);

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  std::optional<int64_t> axis;           // axis of the classes; negative: from the end (ClassAxis)
  double smoothing = 0;                  // label smoothing: each class gets smoothing / C
  std::optional<int64_t> ignore_index;   // examples of this class are ignored
  std::vector<double> class_weights;     // weight per class; empty: 1
  std::vector<double> positive_weights;  // of binary cross entropy: one, or one per label; empty: 1
  double gamma = 2;                      // focal: exponent of the probability of other classes
  std::optional<double> alpha;           // focal: weight of label 1; label 0 has 1 - alpha
  double epsilon = 1e-5;                 // Dice: added to both sums
  int64_t blank = 0;                     // CTC: the class that separates labels
  int64_t time_axis = 1;                 // CTC: 1 for scores [N, T, C], 0 for [T, N, C]
  bool zero_infinity = false;            // CTC: rows without an alignment count 0
  std::string lengths;  // CTC: the column of the numbers of frames, the first column of the target
  double delta = 1;     // Huber: limit of the quadratic part
  double margin = 1;    // triplet margin
  // For kFunction, (Y, T) -> (L): L is a number, or one per example.
  std::optional<api::Function> function;
};

// Parses "mse", "softmax_cross_entropy:smoothing=0.1,ignore=-100" or "@FILE". InvalidArgument names
// the unknown part; other errors come from the file.
absl::StatusOr<Loss> ParseLoss(absl::string_view text);

bool NeedsTarget(const Loss& loss);
// Returns true if integer targets of such a loss may be class indices.
bool TakesClassIndices(LossKind kind);
// Returns true if outputs are logits of labels, unless they are scores of classes.
bool TakesLogits(LossKind kind);

// The axis of the classes for these sizes of scores and target; nullopt if they do not fit:
// - `axis` if given,
// - the last one if the target is [N, …] or [N, …, C] for scores [N, …, C],
// - the second one if the target is [N, …] for scores [N, C, …].
std::optional<int64_t> ClassAxis(std::optional<int64_t> axis, const std::vector<int64_t>& output,
                                 const std::vector<int64_t>& target);
// Returns true if a target fits an output element by element: they have equal sizes, or the target
// lacks a dimension of size 1, the output's second or last.
bool FitsElements(const std::vector<int64_t>& output, const std::vector<int64_t>& target);
// The class axis if the loss takes class indices and `target` has one per row; otherwise nullopt.
std::optional<int64_t> ClassIndexAxis(const Loss& loss, const TensorShape& output,
                                      const TensorShape& target);
// The number of classes for a target of class indices; nullopt for other losses and targets.
std::optional<int64_t> ClassCount(const Loss& loss, const TensorShape& output,
                                  const TensorShape& target);

// Returns InvalidArgument with the first example whose target is none of `classes` classes, nor the
// ignored one. Accepts all targets of CTC, whose sequences are padded.
absl::Status CheckClasses(const Loss& loss, int64_t classes, const HostTensor& target);

// The loss of a batch is sum(numerator) / sum(denominator). Both are float32[N], with each
// example's terms and their weight.
struct LossTerms {
  api::Tensor numerator;
  api::Tensor denominator;
};

}  // namespace tartan::train
