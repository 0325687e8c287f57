// SPDX-License-Identifier: Apache-2.0
// Losses that compare the scores of classes with class indices. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// Index names and sizes of scores whose classes are along one axis.
struct ScoreForm {
  ScoreForm(std::vector<int64_t> dims, int64_t axis);

  // `name`[rows] = sum of `value`, which reads all indices, over the classes.
  std::string RowSum(absl::string_view name, absl::string_view value) const;
  // Statements that compute LOGP, the log-softmax over the classes of Y, and E / SUM, the softmax.
  std::vector<std::string> LogSoftmax() const;

  std::vector<int64_t> dims;
  int64_t axis;
  int64_t classes;
  std::vector<int64_t> rows;  // `dims` without the axis
  std::string all;            // "i0, i1, i2"
  std::string outer;          // the same without the axis
};

// Requires: `target` has class indices, and `axis` is the class axis of the output (ClassAxis).
absl::StatusOr<LossTerms> CrossEntropyOfClasses(const Loss& loss, const api::Tensor& output,
                                                const api::Tensor& target, int64_t axis);

}  // namespace tartan::train
