// SPDX-License-Identifier: Apache-2.0
// Interprets a batch for classification metrics: rows of scores with their true classes or labels.
// The loss decides whether each row has one class, or a set of binary labels. Internal to this
// folder.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/train/graph/loss.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// The rule that turns scores into decisions.
struct DecisionRule {
  LossKind loss = LossKind::kSoftmaxCrossEntropy;
  std::optional<int64_t> ignore_index;  // rows of this class are ignored
  // A label is set if its score exceeds the threshold. The threshold is a probability for losses of
  // logits (TakesLogits; default 0.5), and an output value with other losses.
  std::optional<double> threshold;
  std::optional<int64_t> axis;  // axis of the classes (ClassAxis)
};

inline DecisionRule DecisionRuleOf(const Loss& loss, std::optional<double> threshold) {
  return {loss.kind, loss.ignore_index, threshold, loss.axis};
}

class Predictions {
 public:
  // Reads the first `count` examples of a batch.
  //
  // Labels: used with losses of logits (TakesLogits), with a threshold, and if an example has one
  // score and the target fits the output (FitsElements). [N, L] is N rows of L labels. In any other
  // shape, such as [N], [N, 1] and masks [N, 1, H, W], each element is a row with one label.
  //
  // Classes: used otherwise; the scores of classes are along one axis (ClassAxis). A target with
  // one dimension less has a class per row, a target of the same shape a probability per class.
  //
  // InvalidArgument names `metric` and both shapes in these cases:
  // - the shapes do not fit, or there is only one score for classes;
  // - labels have no threshold, a class is not an integer, or a label is NaN.
  static absl::StatusOr<Predictions> Make(absl::string_view metric, const DecisionRule& rule,
                                          const HostTensor& output, const HostTensor& target,
                                          int64_t count);

  bool has_labels() const { return has_labels_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }  // classes, or labels per row
  double Score(int64_t row, int64_t column) const {
    return output_.GetDouble(ElementOf(row, column));
  }
  bool HasNan(int64_t row) const;  // True if a score of the row is NaN.

  // The row's class; nullopt if the row is ignored. The predicted class has the maximum score; ties
  // by index. Requires classes.
  std::optional<int64_t> Class(int64_t row) const;
  int64_t PredictedClass(int64_t row) const { return Maximum(output_, row); }

  // Requires labels.
  bool Label(int64_t row, int64_t column) const {
    return target_.GetDouble(row * columns_ + column) > 0.5;
  }
  bool PredictedLabel(int64_t row, int64_t column) const { return Score(row, column) > limit_; }

 private:
  Predictions(const HostTensor& output, const HostTensor& target)
      : output_(output), target_(target) {}

  absl::Status ReadLabels(absl::string_view metric, const DecisionRule& rule, int64_t count);
  absl::Status ReadClasses(absl::string_view metric, const DecisionRule& rule, int64_t count);
  int64_t Maximum(const HostTensor& tensor, int64_t row) const;
  int64_t ElementOf(int64_t row, int64_t column) const {
    return (row / inner_ * columns_ + column) * inner_ + row % inner_;
  }

  HostTensor output_;
  HostTensor target_;
  bool has_labels_ = false;
  bool has_class_numbers_ = false;
  std::optional<int64_t> ignore_index_;
  double limit_ = 0;  // threshold of label scores
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t inner_ = 1;  // rows of an example that are adjacent, before the next class
};

// "auc has no meaning for an output float32[3] and a target float32[4]: `why`".
absl::Status HasNoMeaning(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, absl::string_view why);

// InvalidArgument if one of them has fewer than `count` examples.
absl::Status HaveExamples(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, int64_t count);

// Elements per example; examples are along the first dimension.
int64_t ElementsPerExample(const HostTensor& tensor);

}  // namespace tartan::train
