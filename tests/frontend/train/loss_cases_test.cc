// SPDX-License-Identifier: Apache-2.0
// Compares losses and their gradients with the results of PyTorch in loss_cases.txt
// (scripts/loss_cases.py writes them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "frontend/train/graph/apply_loss.h"

namespace tartan::train::loss_cases_test {
namespace {

struct Case {
  std::string text;  // first line of the case
  std::string loss;
  HostTensor output;
  HostTensor target;
  double value = 0;
  std::vector<double> gradient;
};

std::vector<int64_t> SizesOf(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, 'x'))
    EXPECT_TRUE(absl::SimpleAtoi(part, &sizes.emplace_back())) << text;
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
      absl::StrCat(root == nullptr ? "." : root, "/tests/frontend/train/loss_cases.txt"));
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("case ", 0) != 0) continue;
    Case made;
    made.text = line;
    std::istringstream head(line);
    std::string word, output, type, target;
    head >> word >> made.loss >> output >> type >> target;
    std::getline(file, line);
    std::vector<float> scores;
    for (const double eighth : NumbersOf(line)) scores.push_back(static_cast<float>(eighth / 8));
    made.output = HostTensor::FromVector({DataType::kFloat32, SizesOf(output)}, scores);
    std::getline(file, line);
    const std::vector<double> values = NumbersOf(line);
    made.target = type == "int64"
                      ? HostTensor::FromVector({DataType::kInt64, SizesOf(target)},
                                               std::vector<int64_t>(values.begin(), values.end()))
                      : HostTensor::FromVector({DataType::kFloat32, SizesOf(target)},
                                               std::vector<float>(values.begin(), values.end()));
    std::getline(file, line);
    made.value = NumbersOf(line)[0];
    std::getline(file, line);
    made.gradient = NumbersOf(line);
    cases.push_back(std::move(made));
  }
  return cases;
}

// The loss of the batch, and its gradient by the output.
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Case& given) {
  const auto loss = ParseLoss(given.loss);
  if (!loss.ok()) return loss.status();
  const api::Tensor y = api::Tensor::Placeholder("y", given.output.shape());
  const api::Tensor t = api::Tensor::Placeholder("t", given.target.shape());
  const auto terms = ApplyLoss(*loss, y, t);
  if (!terms.ok()) return terms.status();
  const auto batch = BatchLoss(*terms);
  if (!batch.ok()) return batch.status();
  const auto gradient = api::Gradient(*batch, {y});
  if (!gradient.ok()) return gradient.status();
  return api::EvaluateReference({y, t}, {given.output, given.target}, {*batch, (*gradient)[0]},
                                1 << 26);
}

TEST(LossCases, AreThoseOfPyTorch) {
  const std::vector<Case> cases = ReadCases();
  ASSERT_EQ(cases.size(), 84u);
  std::map<std::string, int> seen;
  for (const Case& given : cases) {
    const auto results = Evaluate(given);
    ASSERT_TRUE(results.ok()) << given.text << ": " << results.status();
    EXPECT_NEAR((*results)[0].GetDouble(0), given.value, 2e-6 * std::max(1.0, given.value))
        << given.text;
    const std::vector<double> gradient = (*results)[1].ToDoubles();
    ASSERT_EQ(gradient.size(), given.gradient.size()) << given.text;
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(gradient[i], given.gradient[i], 2e-6) << given.text << ", element " << i;
    ++seen[given.loss.substr(0, given.loss.find(':'))];
  }
  for (const char* loss : {"binary_cross_entropy", "ctc", "dice", "focal", "softmax_cross_entropy"})
    EXPECT_GE(seen[loss], 6) << loss;
}

TEST(CheckClasses, NamesTheFirstTargetThatIsNoClass) {
  const auto check = [](const char* loss, std::vector<int64_t> sizes, std::vector<int64_t> values) {
    return CheckClasses(*ParseLoss(loss), 3,
                        HostTensor::FromVector({DataType::kInt64, sizes}, values));
  };
  EXPECT_TRUE(check("softmax_cross_entropy", {2, 2}, {0, 2, 1, 0}).ok());
  EXPECT_THAT(check("softmax_cross_entropy", {2, 2}, {0, 2, 3, -1}).message(),
              testing::HasSubstr("target 3 of example 1"));
  EXPECT_TRUE(check("softmax_cross_entropy:ignore=-100", {3}, {0, -100, 2}).ok());
  EXPECT_FALSE(check("softmax_cross_entropy:ignore=-100", {3}, {0, -1, 2}).ok());
  EXPECT_FALSE(check("focal", {1}, {3}).ok());
  EXPECT_TRUE(check("ctc", {1, 3}, {1, 2, -1}).ok());
}

}  // namespace
}  // namespace tartan::train::loss_cases_test
