// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

absl::Status DoNotFit(absl::string_view metric, const HostTensor& output,
                      const HostTensor& target) {
  return absl::InvalidArgumentError(absl::StrCat(metric, " has no meaning for an output ",
                                                 output.shape().ToString(), " and a target ",
                                                 target.shape().ToString()));
}

int64_t PerExample(const HostTensor& tensor) {
  const int64_t examples = tensor.shape().rank() > 0 ? tensor.shape().dims[0] : 1;
  return examples == 0 ? 0 : tensor.element_count() / examples;
}

// Scores by class along the last dimension, and the class of each row: a number, or where the
// target's probability is greatest.
class Rows {
 public:
  static absl::StatusOr<Rows> Make(absl::string_view metric, const HostTensor& output,
                                   const HostTensor& target, int64_t count) {
    Rows rows(output, target);
    if (output.shape().rank() < 2) return DoNotFit(metric, output, target);
    rows.classes_ = output.shape().dims.back();
    const bool has_numbers = target.shape().rank() + 1 == output.shape().rank();
    const bool fits = has_numbers ? target.element_count() * rows.classes_ == output.element_count()
                                  : target.shape().dims == output.shape().dims;
    if (!fits || rows.classes_ == 0) return DoNotFit(metric, output, target);
    rows.has_numbers_ = has_numbers;
    rows.count_ = count * (PerExample(output) / rows.classes_);
    return rows;
  }

  int64_t count() const { return count_; }
  int64_t classes() const { return classes_; }
  double Score(int64_t row, int64_t c) const { return output_.GetDouble(row * classes_ + c); }
  // Not a class: the row does not count.
  int64_t Class(int64_t row) const {
    return has_numbers_ ? target_.GetInt(row) : Greatest(target_, row);
  }
  int64_t Predicted(int64_t row) const { return Greatest(output_, row); }
  bool Counts(int64_t row) const { return Class(row) >= 0 && Class(row) < classes_; }

 private:
  Rows(const HostTensor& output, const HostTensor& target) : output_(output), target_(target) {}

  int64_t Greatest(const HostTensor& tensor, int64_t row) const {
    int64_t best = 0;
    for (int64_t c = 1; c < classes_; ++c) {
      if (tensor.GetDouble(row * classes_ + c) > tensor.GetDouble(row * classes_ + best)) best = c;
    }
    return best;
  }

  HostTensor output_;
  HostTensor target_;
  bool has_numbers_ = true;
  int64_t classes_ = 0;
  int64_t count_ = 0;
};

// Rows whose class is among the `most` greatest scores.
class TopAccuracy final : public Metric {
 public:
  explicit TopAccuracy(int64_t most) : most_(most) {}
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    TARTAN_ASSIGN_OR_RETURN(const Rows rows, Rows::Make("accuracy", output, target, count));
    for (int64_t row = 0; row < rows.count(); ++row) {
      if (!rows.Counts(row)) continue;
      const double score = rows.Score(row, rows.Class(row));
      int64_t above = 0;
      for (int64_t c = 0; c < rows.classes(); ++c) {
        const double other = rows.Score(row, c);
        above += other > score || std::isnan(other) || (other == score && c < rows.Class(row));
      }
      right_ += above < most_ && !std::isnan(score);
      ++all_;
    }
    return absl::OkStatus();
  }
  double Value() const override {
    return all_ == 0 ? kNothing : static_cast<double>(right_) / static_cast<double>(all_);
  }

 private:
  const int64_t most_;
  int64_t right_ = 0;
  int64_t all_ = 0;
};

class F1 final : public Metric {
 public:
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    TARTAN_ASSIGN_OR_RETURN(const Rows rows, Rows::Make("f1", output, target, count));
    counts_.resize(static_cast<size_t>(rows.classes()));
    for (int64_t row = 0; row < rows.count(); ++row) {
      if (!rows.Counts(row)) continue;
      const auto actual = static_cast<size_t>(rows.Class(row));
      const auto predicted = static_cast<size_t>(rows.Predicted(row));
      ++counts_[actual].actual;
      ++counts_[predicted].predicted;
      counts_[actual].right += actual == predicted;
    }
    return absl::OkStatus();
  }
  double Value() const override {
    double sum = 0;
    int classes = 0;
    for (const Count& count : counts_) {
      if (count.actual + count.predicted == 0) continue;
      sum += 2.0 * static_cast<double>(count.right) /
             static_cast<double>(count.actual + count.predicted);
      ++classes;
    }
    return classes == 0 ? kNothing : sum / classes;
  }

 private:
  struct Count {
    int64_t actual = 0;
    int64_t predicted = 0;
    int64_t right = 0;
  };
  std::vector<Count> counts_;
};

// The probability that an example of class 1 has a greater score than one of class 0.
class Auc final : public Metric {
 public:
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    const int64_t scores = PerExample(output);
    if (scores < 1 || scores > 2 || PerExample(target) != 1) return DoNotFit("auc", output, target);
    for (int64_t row = 0; row < count; ++row) {
      const double score = scores == 1 ? output.GetDouble(row)
                                       : output.GetDouble(2 * row + 1) - output.GetDouble(2 * row);
      examples_.emplace_back(score, target.GetDouble(row) > 0.5);
    }
    return absl::OkStatus();
  }
  double Value() const override {
    std::vector<std::pair<double, bool>> sorted = examples_;
    std::sort(sorted.begin(), sorted.end());
    double below = 0;
    double won = 0;
    double positives = 0;
    // Equal scores count a half.
    for (size_t begin = 0; begin < sorted.size();) {
      size_t end = begin;
      double ones = 0;
      while (end < sorted.size() && sorted[end].first == sorted[begin].first)
        ones += sorted[end++].second;
      const double zeros = static_cast<double>(end - begin) - ones;
      won += ones * (below + zeros / 2);
      below += zeros;
      positives += ones;
      begin = std::max(end, begin + 1);
    }
    return positives * below == 0 ? kNothing : won / (positives * below);
  }

 private:
  std::vector<std::pair<double, bool>> examples_;
};

class Mae final : public Metric {
 public:
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    if (output.element_count() != target.element_count()) return DoNotFit("mae", output, target);
    for (int64_t i = 0; i < count * PerExample(output); ++i) {
      sum_ += std::abs(output.GetDouble(i) - target.GetDouble(i));
      ++all_;
    }
    return absl::OkStatus();
  }
  double Value() const override { return all_ == 0 ? kNothing : sum_ / static_cast<double>(all_); }

 private:
  double sum_ = 0;
  int64_t all_ = 0;
};

// 1 - the squares of the errors over those of the differences from the mean.
class R2 final : public Metric {
 public:
  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    if (output.element_count() != target.element_count()) return DoNotFit("r2", output, target);
    for (int64_t i = 0; i < count * PerExample(output); ++i) {
      const double t = target.GetDouble(i);
      const double error = output.GetDouble(i) - t;
      errors_ += error * error;
      // Welford's way: sums of squares would lose the difference.
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

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> MakeMetric(absl::string_view name) {
  if (name == "accuracy") return std::make_unique<TopAccuracy>(1);
  if (name == "f1") return std::make_unique<F1>();
  if (name == "auc") return std::make_unique<Auc>();
  if (name == "mae") return std::make_unique<Mae>();
  if (name == "r2") return std::make_unique<R2>();
  int64_t most = 0;
  if (absl::StartsWith(name, "top") && absl::SimpleAtoi(name.substr(3), &most) && most > 0)
    return std::make_unique<TopAccuracy>(most);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no metric '", name, "'; there are accuracy, topK, f1, auc, mae, r2"));
}

}  // namespace tartan::train
