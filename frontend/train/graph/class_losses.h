// SPDX-License-Identifier: Apache-2.0
// Losses that compare the scores of classes with class indices. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/train/graph/loss.h"
#include "frontend/train/graph/loss_terms.h"

namespace tartan::train {

// Index names and sizes of scores whose classes are along one axis.
struct ScoreForm {
  ScoreForm(std::vector<int64_t> dims, int64_t axis);

  // `name`[rows] = sum of `value`, which reads all indices, over the classes.
  std::string RowSum(absl::string_view name, absl::string_view value) const;
  // `name`[rows] = `value`, which has size 1 along the axis, and the reverse.
  std::string ToRows(absl::string_view name, absl::string_view value) const;
  std::string FromRows(absl::string_view name, absl::string_view value) const;
  // Statements that compute LOGP, the log-softmax over the classes of Y, and E / SUM, the softmax.
  // LOGP is Y - MAX - LOGSUM.
  std::vector<std::string> LogSoftmax() const;
  // The sizes of a vector of classes that broadcasts to the scores.
  std::vector<int64_t> AlongClasses() const;

  std::vector<int64_t> dims;
  int64_t axis;
  int64_t classes;
  std::vector<int64_t> rows;  // `dims` without the axis
  std::string all;            // "i0, i1, i2"
  std::string outer;          // the same without the axis
  std::string single;         // "i0, j, i2": the same for a tensor of size 1 along the axis
  std::string written;        // "[i0, j, i2 : 4, 1, 3]": the left side for such a tensor
};

// A float32 constant of `weights`, of the sizes `along`. InvalidArgument unless there is one weight
// per class.
absl::StatusOr<api::Tensor> ClassWeights(const Loss& loss, const std::vector<double>& weights,
                                         const api::Tensor& output, const api::Tensor& target,
                                         const std::vector<int64_t>& along);

// Inputs and first statements of a loss of class indices: the scores Y, the target T, the class
// indices CLASSES, and the class weights W if there are any. The last two broadcast to Y. The
// statements compute ScoreForm::LogSoftmax.
struct ClassTerms {
  std::vector<std::string> names = {"Y", "T", "CLASSES"};
  std::vector<api::Tensor> inputs;
  std::vector<std::string> statements;
  bool has_weights = false;
  GradientRule rule;
};
absl::StatusOr<ClassTerms> BeginClasses(const Loss& loss, const api::Tensor& output,
                                        const api::Tensor& target, const ScoreForm& form);

// Requires: `target` has class indices, and `axis` is the class axis of the output (ClassAxis).
absl::StatusOr<LossTerms> CrossEntropyOfClasses(const Loss& loss, const api::Tensor& output,
                                                const api::Tensor& target, int64_t axis);
// The focal loss of a softmax (Lin et al., 2017): cross entropy times (1 - p)^gamma, where p is the
// probability of the class. Requires the same.
absl::StatusOr<LossTerms> FocalLossOfClasses(const Loss& loss, const api::Tensor& output,
                                             const api::Tensor& target, int64_t axis);

}  // namespace tartan::train
