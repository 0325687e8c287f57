// SPDX-License-Identifier: Apache-2.0
// A batch as the metrics of classification read it: rows of scores, and the truth of each row.
// The loss decides how: either each row has one class, or each of its labels is set or not.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/train/loss.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// The rule by which scores become decisions.
struct DecisionRule {
  LossKind loss = LossKind::kSoftmaxCrossEntropy;
  std::optional<int64_t> ignore_index;  // rows of this class do not count
  // A label is set where its score is above the threshold. It is a probability with
  // binary_cross_entropy (0.5 where none is given), and a value of the output with other losses.
  std::optional<double> threshold;
};

class Predictions {
 public:
  // The first `count` examples of a batch.
  //
  // Labels are read with binary_cross_entropy, with a threshold, and where an example has one score
  // and the target has the output's sizes. [N, L] is N rows of L labels. Any other shape, as [N],
  // [N, 1] and the masks [N, 1, H, W], is one row of one label for each element.
  // Else the last dimension has the scores of classes: a target of one dimension less has a class
  // for each row, a target of equal sizes a probability for each class.
  //
  // InvalidArgument names `metric` and both shapes: where they do not fit, one score is given for
  // classes, a label has no threshold, a class is no whole number, or a label is NaN.
  static absl::StatusOr<Predictions> Make(absl::string_view metric, const DecisionRule& rule,
                                          const HostTensor& output, const HostTensor& target,
                                          int64_t count);

  bool has_labels() const { return has_labels_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }  // classes, or labels of a row
  double Score(int64_t row, int64_t column) const {
    return output_.GetDouble(row * columns_ + column);
  }
  bool HasNan(int64_t row) const;  // among the scores of the row

  // The row's class; nothing where the row does not count. The predicted class has the maximal
  // score; of equal scores the first. There must be classes.
  std::optional<int64_t> Class(int64_t row) const;
  int64_t PredictedClass(int64_t row) const { return Maximum(output_, row); }

  // There must be labels.
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

  HostTensor output_;
  HostTensor target_;
  bool has_labels_ = false;
  bool has_class_numbers_ = false;
  std::optional<int64_t> ignore_index_;
  double limit_ = 0;  // of the scores of labels
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

// "auc has no meaning for an output float32[3] and a target float32[4]: `why`".
absl::Status HasNoMeaning(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, absl::string_view why);

// InvalidArgument where one of them has fewer than `count` examples.
absl::Status HaveExamples(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, int64_t count);

// Elements of one example, which is an index of the first dimension.
int64_t ElementsPerExample(const HostTensor& tensor);

}  // namespace tartan::train
