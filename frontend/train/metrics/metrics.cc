// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontend/train/metrics/area_under_curve.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double Share(int64_t part, int64_t all) {
  return all == 0 ? kNothing : static_cast<double>(part) / static_cast<double>(all);
}

// A metric of decisions. It is undefined (NaN) if a score that counts is NaN.
class Decided : public Metric {
 public:
  Decided(std::string name, DecisionRule rule) : name_(std::move(name)), rule_(rule) {}

  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) final {
    TARTAN_ASSIGN_OR_RETURN(const Predictions batch,
                            Predictions::Make(name_, rule_, output, target, count));
    TARTAN_RETURN_IF_ERROR(Begin(batch, output, target));
    for (int64_t row = 0; row < batch.rows(); ++row) {
      if (!batch.has_labels() && !batch.Class(row).has_value()) continue;
      has_nan_ = has_nan_ || batch.HasNan(row);
      AddRow(batch, row);
    }
    return absl::OkStatus();
  }
  double Value() const final { return has_nan_ ? kNothing : Result(); }

 protected:
  const std::string& name() const { return name_; }

 private:
  // Checks that the metric supports such a batch.
  virtual absl::Status Begin(const Predictions& batch, const HostTensor& output,
                             const HostTensor& target) = 0;
  virtual void AddRow(const Predictions& batch, int64_t row) = 0;
  virtual double Result() const = 0;

  const std::string name_;
  const DecisionRule rule_;
  bool has_nan_ = false;
};

// The share of rows whose class is among the `most` maximum scores, or whose labels are all
// correct.
class Accuracy final : public Decided {
 public:
  Accuracy(std::string name, DecisionRule rule, int64_t most)
      : Decided(std::move(name), rule), most_(most) {}

 private:
  absl::Status Begin(const Predictions& batch, const HostTensor& output,
                     const HostTensor& target) override {
    if (!batch.has_labels() || name() == "accuracy") return absl::OkStatus();
    return HasNoMeaning(name(), output, target, "it needs scores of classes, not of labels");
  }
  void AddRow(const Predictions& batch, int64_t row) override {
    right_ += batch.has_labels() ? LabelsAreRight(batch, row) : IsAmongFirst(batch, row);
    ++all_;
  }
  double Result() const override { return Share(right_, all_); }

  static bool LabelsAreRight(const Predictions& batch, int64_t row) {
    for (int64_t c = 0; c < batch.columns(); ++c) {
      if (batch.Label(row, c) != batch.PredictedLabel(row, c)) return false;
    }
    return true;
  }
  bool IsAmongFirst(const Predictions& batch, int64_t row) const {
    const int64_t actual = *batch.Class(row);
    const double score = batch.Score(row, actual);
    int64_t before = 0;
    for (int64_t c = 0; c < batch.columns(); ++c) {
      const double other = batch.Score(row, c);
      before += other > score || (other == score && c < actual);
    }
    return before < most_;
  }

  const int64_t most_;
  int64_t right_ = 0;
  int64_t all_ = 0;
};

// The share of correct labels.
class LabelAccuracy final : public Decided {
 public:
  explicit LabelAccuracy(DecisionRule rule) : Decided("label_accuracy", rule) {}

 private:
  absl::Status Begin(const Predictions& batch, const HostTensor& output,
                     const HostTensor& target) override {
    if (batch.has_labels()) return absl::OkStatus();
    return HasNoMeaning(name(), output, target, "it needs scores of labels, not of classes");
  }
  void AddRow(const Predictions& batch, int64_t row) override {
    for (int64_t c = 0; c < batch.columns(); ++c) {
      right_ += batch.Label(row, c) == batch.PredictedLabel(row, c);
      ++all_;
    }
  }
  double Result() const override { return Share(right_, all_); }

  int64_t right_ = 0;
  int64_t all_ = 0;
};

enum class Average : uint8_t { kDefault, kMacro, kMicro, kPerClass };

// Counts of the actual and the predicted rows of a class or label, and of the rows in both.
struct Overlap {
  int64_t actual = 0;
  int64_t predicted = 0;
  int64_t right = 0;

  double F1() const { return actual + predicted == 0 ? 0 : 2 * Share(right, actual + predicted); }
  double Jaccard() const {
    return actual + predicted == 0 ? 0 : Share(right, actual + predicted - right);
  }
};

// An overlap of each class or label, or of all together. It is 0 for a class or label that neither
// occurs nor is predicted. The macro average excludes such classes but includes such labels,
// because the output's shape defines their number.
class OverlapMetric final : public Decided {
 public:
  using Formula = double (Overlap::*)() const;
  OverlapMetric(std::string name, DecisionRule rule, Formula formula, Average average)
      : Decided(std::move(name), rule), formula_(formula), average_(average) {}

  void Report(const std::string& name, std::map<std::string, double>* values) const override {
    if (average_ != Average::kPerClass) return Decided::Report(name, values);
    const bool is_defined = !std::isnan(Value());
    const absl::string_view prefix = absl::StripSuffix(name, "per_class");
    for (size_t c = 0; c < counts_.size(); ++c)
      (*values)[absl::StrCat(prefix, c)] = is_defined ? (counts_[c].*formula_)() : kNothing;
  }

 private:
  absl::Status Begin(const Predictions& batch, const HostTensor& /*output*/,
                     const HostTensor& /*target*/) override {
    // One label is a choice between two classes, 0 and 1.
    is_one_label_ = batch.has_labels() && batch.columns() == 1;
    has_many_labels_ = batch.has_labels() && !is_one_label_;
    counts_.resize(is_one_label_ ? 2 : static_cast<size_t>(batch.columns()));
    return absl::OkStatus();
  }
  void AddRow(const Predictions& batch, int64_t row) override {
    ++rows_;
    if (!has_many_labels_) {
      AddChoice(is_one_label_ ? batch.Label(row, 0) : *batch.Class(row),
                is_one_label_ ? batch.PredictedLabel(row, 0) : batch.PredictedClass(row));
      return;
    }
    for (int64_t c = 0; c < batch.columns(); ++c) {
      Overlap& count = counts_[static_cast<size_t>(c)];
      count.actual += batch.Label(row, c);
      count.predicted += batch.PredictedLabel(row, c);
      count.right += batch.Label(row, c) && batch.PredictedLabel(row, c);
    }
  }
  void AddChoice(int64_t actual, int64_t predicted) {
    ++counts_[static_cast<size_t>(actual)].actual;
    ++counts_[static_cast<size_t>(predicted)].predicted;
    counts_[static_cast<size_t>(actual)].right += actual == predicted;
  }
  double Result() const override {
    if (rows_ == 0) return kNothing;
    if (is_one_label_ && average_ == Average::kDefault) return (counts_[1].*formula_)();
    Overlap all;
    double sum = 0;
    int64_t averaged = 0;
    for (const Overlap& count : counts_) {
      all.actual += count.actual;
      all.predicted += count.predicted;
      all.right += count.right;
      sum += (count.*formula_)();
      averaged += has_many_labels_ || count.actual + count.predicted > 0;
    }
    return average_ == Average::kMicro ? (all.*formula_)() : sum / static_cast<double>(averaged);
  }

  const Formula formula_;
  const Average average_;
  bool is_one_label_ = false;
  bool has_many_labels_ = false;
  int64_t rows_ = 0;
  std::vector<Overlap> counts_;
};

// The mean of the absolute errors, or the root of the mean of their squares.
class MeanError final : public Metric {
 public:
  MeanError(std::string name, bool is_square) : name_(std::move(name)), is_square_(is_square) {}

  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    TARTAN_RETURN_IF_ERROR(HaveExamples(name_, output, target, count));
    if (output.element_count() != target.element_count())
      return HasNoMeaning(name_, output, target, "");
    for (int64_t i = 0; i < count * ElementsPerExample(output); ++i) {
      const double error = std::abs(output.GetDouble(i) - target.GetDouble(i));
      sum_ += is_square_ ? error * error : error;
      ++all_;
    }
    return absl::OkStatus();
  }
  double Value() const override {
    if (all_ == 0) return kNothing;
    const double mean = sum_ / static_cast<double>(all_);
    return is_square_ ? std::sqrt(mean) : mean;
  }

 private:
  const std::string name_;
  const bool is_square_;
  double sum_ = 0;
  int64_t all_ = 0;
};

// 1 - (sum of squared errors) / (sum of squared deviations from the mean).
class R2 final : public Metric {
 public:
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    TARTAN_RETURN_IF_ERROR(HaveExamples("r2", output, target, count));
    if (output.element_count() != target.element_count())
      return HasNoMeaning("r2", output, target, "");
    for (int64_t i = 0; i < count * ElementsPerExample(output); ++i) {
      const double t = target.GetDouble(i);
      const double error = output.GetDouble(i) - t;
      errors_ += error * error;
      // Welford's algorithm: a plain sum of squares would cancel.
      ++all_;
      const double delta = t - mean_;
      mean_ += delta / static_cast<double>(all_);
      spread_ += delta * (t - mean_);
    }
    return absl::OkStatus();
  }
  double Value() const override { return spread_ == 0 ? kNothing : 1 - errors_ / spread_; }

 private:
  double errors_ = 0;
  double mean_ = 0;
  double spread_ = 0;
  int64_t all_ = 0;
};

constexpr std::pair<absl::string_view, OverlapMetric::Formula> kOverlaps[] = {
    {"f1", &Overlap::F1}, {"dice", &Overlap::F1}, {"iou", &Overlap::Jaccard}};
constexpr std::pair<absl::string_view, Average> kAverages[] = {{"", Average::kDefault},
                                                               {"_macro", Average::kMacro},
                                                               {"_micro", Average::kMicro},
                                                               {"_per_class", Average::kPerClass}};

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name,
                                                   const DecisionRule& rule) {
  if (rule.threshold.has_value()) {
    const bool is_probability = TakesLogits(rule.loss);
    if (std::isnan(*rule.threshold) ||
        (is_probability && (*rule.threshold < 0 || *rule.threshold > 1))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the threshold ", *rule.threshold, " is not a ",
          is_probability ? absl::StrCat("probability (of ", Name(rule.loss), ")") : "number"));
    }
  }
  const std::string text(name);
  if (name == "accuracy") return std::make_unique<Accuracy>(text, rule, 1);
  if (name == "label_accuracy") return std::make_unique<LabelAccuracy>(rule);
  for (const auto& [base, formula] : kOverlaps) {
    for (const auto& [suffix, average] : kAverages) {
      if (name == absl::StrCat(base, suffix))
        return std::make_unique<OverlapMetric>(text, rule, formula, average);
    }
  }
  if (name == "auc") return MakeAuc(rule);
  if (name == "mae" || name == "rmse")
    return std::make_unique<MeanError>(text, /*is_square=*/name == "rmse");
  if (name == "r2") return std::make_unique<R2>();
  int64_t most = 0;
  if (absl::StartsWith(name, "top") && absl::SimpleAtoi(name.substr(3), &most) && most > 0)
    return std::make_unique<Accuracy>(text, rule, most);
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no metric '", name,
      "'; the metrics are accuracy, label_accuracy, topK, f1, dice, iou, these three with _macro, "
      "_micro or _per_class, auc, mae, rmse, r2"));
}

absl::StatusOr<NamedMetrics> MakeMetrics(const std::vector<std::string>& names,
                                         const DecisionRule& rule) {
  NamedMetrics metrics;
  for (const std::string& name : names) {
    TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Metric> metric, MakeMetric(name, rule));
    metrics.emplace_back(name, std::move(metric));
  }
  return metrics;
}

}  // namespace tartan::train
