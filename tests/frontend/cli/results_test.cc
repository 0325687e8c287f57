// SPDX-License-Identifier: Apache-2.0
// Tests of result handling: comparison, expected lists, scores, latencies and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/cli/accuracy.h"
#include "frontend/cli/compare.h"
#include "frontend/cli/expectations.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/top_scores.h"

namespace tartan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

HostTensor Floats(const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, {static_cast<int64_t>(values.size())}},
                                       values);
}

TEST(Table, ShowsControlCharactersOfCellsButItsOwnEmphasis) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.AddRow({"a\nb", std::string(kBold) + "c\x1b[2J" + kPlain});
  EXPECT_EQ(table.ToString(), "a\\nb  \x1b[1mc\\x1b[2J\x1b[0m\n");
}

TEST(Compare, NanAndInfinityFitThemselves) {
  EXPECT_TRUE(Compare(Floats({kNan, kInf, -kInf}), Floats({kNan, kInf, -kInf}), {}).equal);
  EXPECT_FALSE(Compare(Floats({1}), Floats({kNan}), {}).equal);
  EXPECT_FALSE(Compare(Floats({kNan}), Floats({1}), {}).equal);
  EXPECT_FALSE(Compare(Floats({kInf}), Floats({-kInf}), {}).equal);
  EXPECT_FALSE(Compare(Floats({1e30f}), Floats({kInf}), {}).equal);
}

TEST(Compare, ToleranceIsRelativeToTheExpected) {
  EXPECT_TRUE(Compare(Floats({1000.9f}), Floats({1000}), {1e-3, 0}).equal);
  EXPECT_FALSE(Compare(Floats({1001.1f}), Floats({1000}), {1e-3, 0}).equal);
  EXPECT_FALSE(Compare(Floats({1e-6f}), Floats({0}), {1e-3, 1e-7}).equal);
  EXPECT_TRUE(Compare(Floats({1e-6f}), Floats({0}), {1e-3, 1e-5}).equal);
}

TEST(Compare, TypesAndShapesMustBeEqual) {
  const auto a = HostTensor::Zeros({DataType::kFloat32, {2, 1}});
  const auto b = HostTensor::Zeros({DataType::kFloat32, {2}});
  const auto c = HostTensor::Zeros({DataType::kInt32, {2}});
  EXPECT_EQ(Compare(a, b, {}).message, "is float32[2, 1], expected float32[2]");
  EXPECT_FALSE(Compare(c, b, {}).equal);
}

TEST(Compare, TellsWhereTheFirstDifferenceIs) {
  const auto actual = Floats({1, 2, 3, 4}).Reshaped({2, 2});
  const auto expected = Floats({1, 2, 5, 5}).Reshaped({2, 2});
  const Comparison comparison = Compare(actual, expected, {});
  EXPECT_THAT(comparison.message, HasSubstr("2 of 4 elements differ, first at [1, 0]: 3"));
  EXPECT_EQ(comparison.max_abs_error, 2);
  EXPECT_DOUBLE_EQ(comparison.max_rel_error, 0.4);
}

TEST(Compare, SeesLargeIntegersApart) {
  const int64_t big = int64_t{1} << 60;
  const auto a = HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {big});
  const auto b = HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {big + 1});
  EXPECT_TRUE(Compare(a, a, {0, 0}).equal);
  EXPECT_FALSE(Compare(a, b, {0, 0}).equal);
}

HostTensor Doubles(const std::vector<double>& values) {
  return HostTensor::FromVector<double>({DataType::kFloat64, {static_cast<int64_t>(values.size())}},
                                        values);
}

TEST(Accuracy, CountsUnitsInTheLastPlaceAtTheExactValue) {
  const Accuracy accuracy = MeasureAccuracy(Floats({1 + 0x1p-22f, 4}), Doubles({1, 4}), {});
  // The scale is the root of 8.5, where the spacing of floats is 2^-22.
  EXPECT_EQ(accuracy.max_ulps, 1);
  EXPECT_EQ(accuracy.max_abs_error, 0x1p-22);
  EXPECT_EQ(MeasureAccuracy(Floats({4 + 0x1p-20f, 1}), Doubles({4, 1}), {}).max_ulps, 2);
}

TEST(Accuracy, MeasuresElementsNearZeroAtTheScale) {
  const Accuracy accuracy =
      MeasureAccuracy(Floats({1e-8f, 1, -1}), Doubles({0, 1, -1}), {1e-3, 1e-9});
  EXPECT_NEAR(accuracy.max_ulps, 1e-8 / 0x1p-24, 1e-6);
  EXPECT_NEAR(accuracy.rms_error, 1e-8 / std::sqrt(2.0), 1e-14);
  EXPECT_EQ(accuracy.beyond, 1);
  EXPECT_EQ(accuracy.elements, 3);
}

TEST(Accuracy, UsesTheUnitsOfTheResultsType) {
  const uint16_t one_and_a_bit = 0x3c01;  // float16
  const auto half = HostTensor::FromVector<uint16_t>({DataType::kFloat16, {1}}, {one_and_a_bit});
  EXPECT_EQ(MeasureAccuracy(half, Doubles({1}), {}).max_ulps, 1);
  const auto integer = HostTensor::FromVector<int32_t>({DataType::kInt32, {1}}, {7});
  const auto wanted = HostTensor::FromVector<int32_t>({DataType::kInt32, {1}}, {5});
  EXPECT_EQ(MeasureAccuracy(integer, wanted, {}).max_ulps, 2);
}

TEST(Accuracy, InfinityAndNanAreExactWhereTheTypeHasThem) {
  EXPECT_EQ(MeasureAccuracy(Floats({kInf, kNan, 1}), Doubles({1e300, kNan, 1}), {}).max_ulps, 0);
  const Accuracy wrong = MeasureAccuracy(Floats({kNan, 1}), Doubles({2, 1}), {});
  EXPECT_EQ(wrong.max_ulps, kInf);
  EXPECT_EQ(wrong.beyond, 1);
  EXPECT_EQ(wrong.rms_error, 0);
}

TEST(Tolerance, FitsThePrecisionOfTheType) {
  const Tolerance usual = {1e-3, 1e-7};
  EXPECT_EQ(ToleranceFor(DataType::kFloat32, 100, usual).relative, 1e-3);
  EXPECT_EQ(ToleranceFor(DataType::kFloat32, 100, usual).absolute, 1e-7);
  EXPECT_EQ(ToleranceFor(DataType::kFloat16, 2, usual).relative, 0x1p-8);
  EXPECT_EQ(ToleranceFor(DataType::kFloat16, 2, usual).absolute, 0x1p-9);
  EXPECT_EQ(ToleranceFor(DataType::kBFloat16, 2, usual).relative, 0x1p-5);
  EXPECT_EQ(ToleranceFor(DataType::kFloat16, 0, {0.5, 0.25}).relative, 0.5);
  EXPECT_EQ(ToleranceFor(DataType::kFloat16, 0, {0.5, 0.25}).absolute, 0.25);
}

TEST(Expectations, ReadBackWhatTheyWrite) {
  const std::string text = FormatExpectations(
      {{"b/two", "unsupported", "needs (an operator)\nsecond line"}, {"a/one", "pass", ""}});
  EXPECT_EQ(text, "pass a/one\nunsupported b/two  # needs (an operator)\n");
  const auto parsed = ParseExpectations({"# heading", "", "pass a/one", "error b  # why"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(*parsed,
              ElementsAre(::testing::Pair("a/one", "pass"), ::testing::Pair("b", "error")));
}

TEST(Expectations, RefuseOtherLines) {
  EXPECT_FALSE(ParseExpectations({"passed a"}).ok());
  EXPECT_FALSE(ParseExpectations({"pass"}).ok());
  EXPECT_THAT(std::string(ParseExpectations({"pass a", "fail a"}).status().message()),
              HasSubstr("line 2: a is listed twice"));
}

TEST(Expectations, DifferInEitherDirection) {
  const auto differences = FindDifferences(
      {{"gone", "pass"}, {"same", "fail"}, {"better", "fail"}, {"worse", "pass"}},
      {{"same", "fail", ""}, {"better", "pass", ""}, {"worse", "error", ""}, {"new", "pass", ""}});
  std::vector<std::string> texts;
  for (const auto& d : differences) texts.push_back(d.name + " " + d.expected + " " + d.actual);
  EXPECT_THAT(texts, ElementsAre("better fail pass", "gone pass absent", "new absent pass",
                                 "worse pass error"));
}

TEST(TopScores, ComeGreatestFirstInEachRow) {
  const auto scores = Floats({0.1f, 0.7f, 0.2f, kNan, 5, 5}).Reshaped({2, 3});
  std::vector<int64_t> indices;
  for (const TopScore& top : TopScores(scores, 3, 10)) indices.push_back(top.index);
  EXPECT_THAT(indices, ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_EQ(TopScores(scores, 9, 1).size(), 3u);
  EXPECT_TRUE(TopScores(HostTensor::Zeros({DataType::kFloat32, {0, 3}}), 2, 10).empty());
}

TEST(TopScores, KnowProbabilities) {
  EXPECT_TRUE(AreProbabilities(Floats({0.25f, 0.75f})));
  EXPECT_FALSE(AreProbabilities(Floats({0.25f, 0.25f})));
  EXPECT_FALSE(AreProbabilities(Floats({-1, 2})));
}

TEST(Summarize, InterpolatesPercentiles) {
  const LatencySummary summary = Summarize({5, 1, 2, 4, 3});
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_DOUBLE_EQ(summary.p90, 4.6);
  EXPECT_EQ(Summarize({7}).p99, 7);
}

TEST(Table, AlignsColumnsByCharacters) {
  Table table({Table::Align::kRight, Table::Align::kLeft, Table::Align::kLeft});
  table.AddRow({"1", "×", "end"});
  table.AddRow({"22", "ab", "e"});
  EXPECT_EQ(table.ToString(), " 1  ×   end\n22  ab  e\n");
}

TEST(ExitCode, DependsOnWhatWasBeingDone) {
  const auto missing = absl::NotFoundError("x");
  EXPECT_EQ(ExitCodeFor(At(Stage::kModel, missing)), ExitCode::kFile);
  EXPECT_EQ(ExitCodeFor(At(Stage::kDevice, missing)), ExitCode::kDevice);
  EXPECT_EQ(ExitCodeFor(At(Stage::kUsage, missing)), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeFor(At(Stage::kModel, absl::UnimplementedError(""))), ExitCode::kModel);
  EXPECT_EQ(ExitCodeFor(At(Stage::kRun, absl::InternalError(""))), ExitCode::kKernel);
  EXPECT_EQ(ExitCodeFor(At(Stage::kFile, absl::ResourceExhaustedError(""))), ExitCode::kMemory);
}

TEST(ExitCode, KeepsTheInnermostStage) {
  const auto status = At(Stage::kRun, At(Stage::kFile, absl::UnavailableError("disk")));
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kFile);
}

}  // namespace
}  // namespace tartan::cli
