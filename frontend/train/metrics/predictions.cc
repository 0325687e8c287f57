// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/metrics/predictions.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Focal and Dice losses compare classes if an example has several scores for one class index.
bool ComparesClasses(LossKind loss, const HostTensor& output, const HostTensor& target) {
  if (loss == LossKind::kSoftmaxCrossEntropy || loss == LossKind::kKl) return true;
  return TakesClassIndices(loss) && !FitsElements(output.shape().dims, target.shape().dims);
}

bool ReadsLabels(const DecisionRule& rule, const HostTensor& output, const HostTensor& target) {
  if (ComparesClasses(rule.loss, output, target)) return false;
  if (TakesLogits(rule.loss) || rule.threshold.has_value()) return true;
  return FitsElements(output.shape().dims, target.shape().dims) && ElementsPerExample(output) == 1;
}

}  // namespace

absl::Status HasNoMeaning(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(metric, " is not defined for an output ", output.shape().ToString(),
                   " and a target ", target.shape().ToString(), why.empty() ? "" : ": ", why));
}

absl::Status HaveExamples(absl::string_view metric, const HostTensor& output,
                          const HostTensor& target, int64_t count) {
  for (const HostTensor* tensor : {&output, &target}) {
    if (tensor->shape().rank() == 0 || tensor->shape().dims[0] < count)
      return HasNoMeaning(metric, output, target,
                          absl::StrCat("the batch has ", count, " examples"));
  }
  return absl::OkStatus();
}

int64_t ElementsPerExample(const HostTensor& tensor) {
  const int64_t examples = tensor.shape().rank() > 0 ? tensor.shape().dims[0] : 1;
  return examples == 0 ? 0 : tensor.element_count() / examples;
}

absl::StatusOr<Predictions> Predictions::Make(absl::string_view metric, const DecisionRule& rule,
                                              const HostTensor& output, const HostTensor& target,
                                              int64_t count) {
  TARTAN_RETURN_IF_ERROR(HaveExamples(metric, output, target, count));
  Predictions made(output, target);
  made.has_labels_ = ReadsLabels(rule, output, target);
  TARTAN_RETURN_IF_ERROR(made.has_labels_ ? made.ReadLabels(metric, rule, count)
                                          : made.ReadClasses(metric, rule, count));
  return made;
}

absl::Status Predictions::ReadLabels(absl::string_view metric, const DecisionRule& rule,
                                     int64_t count) {
  const auto fail = [&](absl::string_view why) {
    return HasNoMeaning(metric, output_, target_, why);
  };
  if (!FitsElements(output_.shape().dims, target_.shape().dims)) return fail("");
  if (TakesLogits(rule.loss)) {
    const double probability = rule.threshold.value_or(0.5);
    limit_ = std::log(probability / (1 - probability));
  } else if (rule.threshold.has_value()) {
    limit_ = *rule.threshold;
  } else {
    return fail(absl::StrCat("the threshold of label 1 is not known for the loss ", Name(rule.loss),
                             "; give --threshold"));
  }
  columns_ = output_.shape().rank() == 2 ? output_.shape().dims[1] : 1;
  rows_ = columns_ == 0 ? 0 : count * ElementsPerExample(output_) / columns_;
  for (int64_t i = 0; i < rows_ * columns_; ++i) {
    if (std::isnan(target_.GetDouble(i))) return fail(absl::StrCat("label ", i, " is NaN"));
  }
  return absl::OkStatus();
}

absl::Status Predictions::ReadClasses(absl::string_view metric, const DecisionRule& rule,
                                      int64_t count) {
  const auto fail = [&](absl::string_view why) {
    return HasNoMeaning(metric, output_, target_, why);
  };
  const std::vector<int64_t>& dims = output_.shape().dims;
  if (dims.size() < 2) return fail("classes have scores [N, …, C] or [N, C, …]");
  const std::optional<int64_t> axis = ClassAxis(rule.axis, dims, target_.shape().dims);
  if (!axis.has_value()) return fail("");
  columns_ = dims[static_cast<size_t>(*axis)];
  if (columns_ == 1) {
    return fail("a single class has probability 1; use binary_cross_entropy for one logit");
  }
  if (columns_ == 0) return fail("");
  has_class_numbers_ = target_.shape().rank() + 1 == output_.shape().rank();
  for (size_t d = static_cast<size_t>(*axis) + 1; d < dims.size(); ++d) inner_ *= dims[d];
  rows_ = count * (ElementsPerExample(output_) / columns_);
  ignore_index_ = rule.ignore_index;
  for (int64_t row = 0; has_class_numbers_ && row < rows_; ++row) {
    const double number = target_.GetDouble(row);
    if (number != std::floor(number))
      return fail(absl::StrCat("the class ", number, " is not a whole number"));
  }
  return absl::OkStatus();
}

bool Predictions::HasNan(int64_t row) const {
  for (int64_t c = 0; c < columns_; ++c) {
    if (std::isnan(Score(row, c))) return true;
  }
  return false;
}

std::optional<int64_t> Predictions::Class(int64_t row) const {
  if (!has_class_numbers_) return Maximum(target_, row);
  // Compares doubles, because a float may exceed all integers.
  const double number = target_.GetDouble(row);
  if (!(number >= 0 && number < static_cast<double>(columns_))) return std::nullopt;
  const auto found = static_cast<int64_t>(number);
  return found == ignore_index_ ? std::nullopt : std::make_optional(found);
}

int64_t Predictions::Maximum(const HostTensor& tensor, int64_t row) const {
  int64_t best = 0;
  for (int64_t c = 1; c < columns_; ++c) {
    if (tensor.GetDouble(ElementOf(row, c)) > tensor.GetDouble(ElementOf(row, best))) best = c;
  }
  return best;
}

}  // namespace tartan::train
