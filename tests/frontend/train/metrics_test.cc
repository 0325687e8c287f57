// SPDX-License-Identifier: Apache-2.0
// Compares metrics with the results of scikit-learn in metric_cases.txt (scripts/metric_cases.py
// writes them).
#include "frontend/train/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tartan::train::metrics_test {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostTensor Floats(std::vector<int64_t> dims, const std::vector<double>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)},
                                std::vector<float>(values.begin(), values.end()));
}

HostTensor Ints(std::vector<int64_t> dims, const std::vector<double>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)},
                                std::vector<int64_t>(values.begin(), values.end()));
}

struct Case {
  std::string text = {};  // first line of the case
  DecisionRule rule = {};
  std::vector<int64_t> output_dims = {};
  std::vector<int64_t> target_dims = {};
  std::vector<double> scores = {};
  std::vector<double> target = {};
  std::map<std::string, double> values = {};
};

DecisionRule RuleOf(LossKind loss, std::optional<double> threshold = std::nullopt) {
  DecisionRule rule;
  rule.loss = loss;
  rule.threshold = threshold;
  return rule;
}

std::vector<int64_t> SizesOf(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, 'x'))
    sizes.push_back(std::stoll(std::string(part)));
  return sizes;
}

std::vector<double> NumbersOf(const std::string& line) {
  std::istringstream stream(line);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

std::vector<Case> ReadCases() {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  std::ifstream file(
      absl::StrCat(root == nullptr ? "." : root, "/tests/frontend/train/metric_cases.txt"));
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("case ", 0) != 0) continue;
    Case made;
    made.text = line;
    std::istringstream head(line);
    std::string word, loss, threshold, output, target;
    head >> word >> loss >> threshold >> output >> target;
    made.rule.loss = ParseLoss(loss)->kind;
    if (threshold != "-") made.rule.threshold = std::stod(threshold);
    made.output_dims = SizesOf(output);
    made.target_dims = SizesOf(target);
    std::getline(file, line);
    made.scores = NumbersOf(line);
    for (double& score : made.scores) score /= 8;
    std::getline(file, line);
    made.target = NumbersOf(line);
    std::getline(file, line);
    std::istringstream values(line);
    std::string value;
    while (values >> word >> value) made.values[word] = std::stod(value);
    cases.push_back(std::move(made));
  }
  return cases;
}

// The `count` examples from `begin`, followed by one example that is not part of the batch.
HostTensor Part(const std::vector<int64_t>& dims, const std::vector<double>& values, int64_t begin,
                int64_t count, bool as_ints) {
  const auto size = static_cast<std::ptrdiff_t>(values.size()) / dims[0];
  std::vector<double> part(values.begin() + begin * size, values.begin() + (begin + count) * size);
  part.insert(part.end(), static_cast<size_t>(size), 1);
  std::vector<int64_t> sizes = dims;
  sizes[0] = count + 1;
  return as_ints ? Ints(sizes, part) : Floats(sizes, part);
}

// Evaluates the metric over the whole case in batches of `batch` examples. "f1_2" is the F1 of
// class 2.
double ValueOf(const Case& given, const std::string& name, int64_t batch, bool as_ints) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool is_of_class = name[end] == '_' && end + 1 < name.size();
  const std::string asked = is_of_class ? name.substr(0, end + 1) + "per_class" : name;
  auto metric = MakeMetric(asked, given.rule);
  if (!metric.ok()) {
    ADD_FAILURE() << metric.status();
    return kNan;
  }
  for (int64_t begin = 0; begin < given.output_dims[0]; begin += batch) {
    const int64_t count = std::min(batch, given.output_dims[0] - begin);
    EXPECT_EQ((*metric)->Add(Part(given.output_dims, given.scores, begin, count, false),
                             Part(given.target_dims, given.target, begin, count, as_ints), count),
              absl::OkStatus());
  }
  std::map<std::string, double> values;
  (*metric)->Report(asked, &values);
  return values.count(name) > 0 ? values[name] : -1;
}

TEST(Metrics, AreThoseOfScikitLearn) {
  const std::vector<Case> cases = ReadCases();
  ASSERT_EQ(cases.size(), 200u);
  std::map<std::string, int> seen;
  for (const Case& given : cases) {
    const bool is_whole = std::all_of(given.target.begin(), given.target.end(),
                                      [](double value) { return value == std::floor(value); });
    for (const auto& [name, expected] : given.values) {
      for (const int64_t batch : {int64_t{100}, int64_t{4}}) {
        for (const bool as_ints : {false, true}) {
          if (as_ints && !is_whole) continue;
          const double value = ValueOf(given, name, batch, as_ints);
          const std::string what = absl::StrCat(given.text, ": ", name, ", batches of ", batch);
          if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(value)) << what << " is " << value;
          } else {
            EXPECT_NEAR(value, expected, 1e-9 * std::max(1.0, std::abs(expected))) << what;
          }
        }
      }
      ++seen[name];
    }
  }
  const std::set<std::string> names = {
      "accuracy", "label_accuracy", "top2",      "f1",         "f1_macro",   "f1_micro",
      "f1_1",     "f1_2",           "dice",      "dice_macro", "dice_micro", "dice_1",
      "iou",      "iou_macro",      "iou_micro", "iou_0",      "iou_3",      "auc",
      "mae",      "rmse",           "r2"};
  for (const std::string& name : names) EXPECT_GT(seen[name], 20) << name;
}

Case OneLogit(std::vector<int64_t> dims, std::vector<double> scores, std::vector<double> target) {
  return {
      "", RuleOf(LossKind::kBinaryCrossEntropy), dims, dims, std::move(scores), std::move(target)};
}

TEST(Metrics, OfAModelThatAlwaysSays0AreNotPerfect) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4}, {4, 1}, {1, 4, 1}}) {
    const Case given = OneLogit(dims, {-20, -20, -20, -20}, {0, 1, 0, 1});
    EXPECT_EQ(ValueOf(given, "accuracy", 4, false), 0.5);
    EXPECT_EQ(ValueOf(given, "f1", 4, false), 0);
    EXPECT_NEAR(ValueOf(given, "f1_macro", 4, false), 1.0 / 3, 1e-12);
    EXPECT_EQ(ValueOf(given, "auc", 4, false), 0.5);
  }
}

TEST(Metrics, AreNanWhereAScoreIs) {
  const Case labels = OneLogit({4, 1}, {-1, kNan, 2, 1}, {0, 1, 0, 1});
  for (const char* name :
       {"accuracy", "label_accuracy", "f1", "f1_micro", "f1_0", "iou", "auc", "mae", "rmse", "r2"})
    EXPECT_TRUE(std::isnan(ValueOf(labels, name, 4, false))) << name;
  const Case classes = {"", {}, {2, 3}, {2}, {1, 2, 3, 3, 2, kNan}, {2, 0}, {}};
  for (const char* name : {"accuracy", "top2", "f1", "f1_micro", "iou_2", "auc"})
    EXPECT_TRUE(std::isnan(ValueOf(classes, name, 4, true))) << name;
}

TEST(Metrics, LeaveOutTheClassThatTheLossIgnores) {
  Case given = {"", {}, {4, 2}, {4}, {3, 1, 3, 1, 1, 3, kNan, 1}, {1, 0, 1, 5}, {}};
  EXPECT_NEAR(ValueOf(given, "accuracy", 4, true), 2.0 / 3, 1e-12);
  given.rule.ignore_index = 1;
  EXPECT_EQ(ValueOf(given, "accuracy", 4, true), 1);
  given.target = {1, 1, 1, 1};
  EXPECT_TRUE(std::isnan(ValueOf(given, "accuracy", 4, true)));
  EXPECT_TRUE(std::isnan(ValueOf(given, "f1", 4, true)));
}

// The softmax of the scores ranks the rows, and not the scores themselves.
TEST(Metrics, TheAreaOfClassesComparesProbabilities) {
  const double inf = std::numeric_limits<double>::infinity();
  const Case given = {"", {}, {3, 3}, {3}, {9, 8, 0, 1, 2, 0, -inf, -inf, 5}, {0, 1, 2}, {}};
  EXPECT_EQ(ValueOf(given, "auc", 3, true), 1);
  // A loss without a softmax ranks by the outputs: 8 of class 1 is above the 2 of the row of
  // class 1.
  Case plain = given;
  plain.rule.loss = LossKind::kOutput;
  EXPECT_NEAR(ValueOf(plain, "auc", 3, true), (1 + 0.5 + 1) / 3, 1e-12);
}

TEST(Metrics, OfInfiniteScoresAreNumbers) {
  const double inf = std::numeric_limits<double>::infinity();
  const Case classes = {"", {}, {3, 2}, {3}, {-inf, -inf, -inf, 0, 0, -inf}, {0, 1, 0}, {}};
  EXPECT_EQ(ValueOf(classes, "auc", 3, true), 1);
  EXPECT_EQ(ValueOf(classes, "accuracy", 3, true), 1);
  EXPECT_EQ(ValueOf(OneLogit({2}, {-inf, inf}, {0, 1}), "accuracy", 2, false), 1);
}

// Scores [N, C, H] and [N, H, C] of the same examples have the same metrics.
TEST(Metrics, FindTheClassesAlongTheSecondAxis) {
  const std::vector<double> last = {1, 2, 3, 9, 0, 1, 5, 6, 4, 0, 1, 7};
  const std::vector<double> second = {1, 9, 2, 0, 3, 1, 5, 0, 6, 1, 4, 7};
  Case by_last = {"", {}, {2, 2, 3}, {2, 2}, last, {2, 0, 0, 1}, {}};
  Case by_second = {"", {}, {2, 3, 2}, {2, 2}, second, {2, 0, 0, 1}, {}};
  for (const char* name : {"accuracy", "top2", "f1", "f1_micro", "iou", "iou_1"}) {
    EXPECT_EQ(ValueOf(by_second, name, 2, true), ValueOf(by_last, name, 2, true)) << name;
  }
  EXPECT_EQ(ValueOf(by_second, "accuracy", 2, true), 0.5);
  // Probabilities have the sizes of the scores, so only the rule can name the axis.
  by_second.rule.axis = 1;
  by_last.target = last;
  by_second.target = second;
  by_last.target_dims = by_last.output_dims;
  by_second.target_dims = by_second.output_dims;
  EXPECT_EQ(ValueOf(by_second, "accuracy", 2, true), 1);
  EXPECT_EQ(ValueOf(by_last, "accuracy", 2, true), 1);
}

TEST(Metrics, TakeATargetThatLacksADimensionOfSizeOne) {
  Case given = OneLogit({4, 1}, {-1, 2, 3, -2}, {0, 1, 0, 1});
  const std::vector<std::vector<int64_t>> outputs = {{4, 1}, {2, 1, 2}, {2, 2, 1}};
  const std::vector<std::vector<int64_t>> targets = {{4}, {2, 2}, {2, 2}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    given.output_dims = outputs[i];
    given.target_dims = targets[i];
    for (const char* name : {"accuracy", "label_accuracy", "f1", "auc"})
      EXPECT_EQ(ValueOf(given, name, 4, true), name == std::string("auc") ? 0.25 : 0.5) << name;
  }
}

std::string ErrorOf(const std::string& name, const DecisionRule& rule, const HostTensor& output,
                    const HostTensor& target, int64_t count) {
  const auto metric = MakeMetric(name, rule);
  if (!metric.ok()) return std::string(metric.status().message());
  const absl::Status status = (*metric)->Add(output, target, count);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(Metrics, RefuseWhatHasNoMeaning) {
  const HostTensor column = Floats({2, 1}, {1, 0});
  const HostTensor pair = Floats({2, 2}, {1, 0, 0, 1});
  const DecisionRule logits = RuleOf(LossKind::kBinaryCrossEntropy);
  EXPECT_THAT(ErrorOf("accuracy", {}, column, column, 2), HasSubstr("binary_cross_entropy"));
  EXPECT_THAT(ErrorOf("f1", {}, column, Ints({2}, {0, 0}), 2), HasSubstr("probability 1"));
  EXPECT_THAT(ErrorOf("accuracy", RuleOf(LossKind::kMse), column, column, 2),
              HasSubstr("--threshold"));
  EXPECT_THAT(ErrorOf("top2", logits, pair, pair, 2), HasSubstr("of classes, not of labels"));
  EXPECT_THAT(ErrorOf("label_accuracy", {}, pair, pair, 2), HasSubstr("of labels, not of classes"));
  EXPECT_THAT(ErrorOf("f1", logits, column, Floats({2, 1}, {kNan, 1}), 2), HasSubstr("is NaN"));
  EXPECT_THAT(ErrorOf("f1", logits, column, pair, 2), HasSubstr("float32[2, 1] and a target"));
  EXPECT_THAT(ErrorOf("accuracy", {}, pair, Floats({2}, {0.5, 1}), 2), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf("f2", {}, pair, pair, 2), HasSubstr("_macro, _micro or _per_class"));
  EXPECT_THAT(ErrorOf("f1", RuleOf(LossKind::kBinaryCrossEntropy, 2), pair, pair, 2),
              HasSubstr("the threshold 2 is not a probability"));
  // The output has no batch dimension, as when the model computes its loss itself.
  EXPECT_THAT(ErrorOf("mae", RuleOf(LossKind::kOutput), Floats({}, {1}), HostTensor(), 2),
              HasSubstr("the batch has 2 examples"));
}

}  // namespace
}  // namespace tartan::train::metrics_test
