// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/metrics/area_under_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// `examples` are scores, and whether the example is of class 1. Returns the probability that an
// example of class 1 has a higher score than one of class 0; equal scores count one half.
double AreaUnderCurve(std::vector<std::pair<double, bool>> examples) {
  std::sort(examples.begin(), examples.end());
  double below = 0;
  double won = 0;
  double positives = 0;
  for (size_t begin = 0; begin < examples.size();) {
    size_t end = begin;
    double ones = 0;
    while (end < examples.size() && examples[end].first == examples[begin].first)
      ones += examples[end++].second;
    const double zeros = static_cast<double>(end - begin) - ones;
    won += ones * (below + zeros / 2);
    below += zeros;
    positives += ones;
    begin = end;
  }
  return positives * below == 0 ? kUndefined : won / (positives * below);
}

// The probability of each class in a row: the softmax of its scores.
std::vector<double> Probabilities(const Predictions& batch, int64_t row) {
  double maximum = batch.Score(row, 0);
  for (int64_t c = 1; c < batch.columns(); ++c) maximum = std::max(maximum, batch.Score(row, c));
  std::vector<double> values;
  double sum = 0;
  for (int64_t c = 0; c < batch.columns(); ++c) {
    const double score = batch.Score(row, c);
    // Avoids NaN as the difference of two infinite scores.
    sum += values.emplace_back(score == maximum ? 1 : std::exp(score - maximum));
  }
  for (double& value : values) value /= sum;
  return values;
}

class Auc final : public Metric {
 public:
  explicit Auc(DecisionRule rule) : rule_(rule) {}

  absl::Status Add(const HostTensor& output, const HostTensor& target, int64_t count) override {
    // The area needs no threshold, but a threshold selects labels if output and target have equal
    // shapes.
    DecisionRule rule = rule_;
    rule.threshold.reset();
    if (FitsElements(output.shape().dims, target.shape().dims)) rule.threshold = 0.5;
    TARTAN_ASSIGN_OR_RETURN(const Predictions batch,
                            Predictions::Make("auc", rule, output, target, count));
    const bool is_choice = !batch.has_labels() && batch.columns() == 2;
    labels_.resize(is_choice ? 1 : static_cast<size_t>(batch.columns()));
    for (int64_t row = 0; row < batch.rows(); ++row) {
      if (!batch.has_labels() && !batch.Class(row).has_value()) continue;
      has_nan_ = has_nan_ || batch.HasNan(row);
      if (is_choice) {
        const double zero = batch.Score(row, 0);
        const double one = batch.Score(row, 1);
        // Avoids NaN as the difference of two infinite scores.
        labels_[0].emplace_back(one == zero ? 0 : one - zero, *batch.Class(row) == 1);
        continue;
      }
      const bool is_softmax =
          !batch.has_labels() && (TakesClassIndices(rule_.loss) || rule_.loss == LossKind::kKl);
      const std::vector<double> probabilities =
          is_softmax ? Probabilities(batch, row) : std::vector<double>();
      for (size_t c = 0; c < labels_.size(); ++c) {
        const auto column = static_cast<int64_t>(c);
        labels_[c].emplace_back(
            is_softmax ? probabilities[c] : batch.Score(row, column),
            batch.has_labels() ? batch.Label(row, column) : *batch.Class(row) == column);
      }
    }
    return absl::OkStatus();
  }
  double Value() const override {
    if (has_nan_ || labels_.empty()) return kUndefined;
    double sum = 0;
    for (const auto& examples : labels_) sum += AreaUnderCurve(examples);
    return sum / static_cast<double>(labels_.size());
  }

 private:
  const DecisionRule rule_;
  bool has_nan_ = false;
  std::vector<std::vector<std::pair<double, bool>>> labels_;  // one list per label
};

}  // namespace

std::unique_ptr<Metric> MakeAuc(const DecisionRule& rule) { return std::make_unique<Auc>(rule); }

}  // namespace tartan::train
