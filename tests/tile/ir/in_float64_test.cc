// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/in_float64.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;

// The first output of the function with all floats in float64.
HostTensor RunWide(const std::string& text, const std::vector<HostTensor>& inputs) {
  const auto program = BindTile(text, inputs);
  EXPECT_TRUE(program.ok()) << program.status();
  const auto wide = InFloat64(*program);
  EXPECT_TRUE(wide.ok()) << wide.status();
  if (!wide.ok()) return {};
  std::vector<HostTensor> widened;
  for (const HostTensor& input : inputs) widened.push_back(InFloat64(input));
  const auto outputs = EvaluateNaively(*wide, widened);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->front() : HostTensor();
}

TEST(InFloat64, DropsTheRoundingOfEveryOperation) {
  const std::vector<HostTensor> inputs = {Floats({2}, {16777216, 1})};
  const std::string text = "function (A[N]) -> (O) { S[] = +(A[i]); O = S / 3; }";
  EXPECT_EQ(RunTile(text, inputs).GetDouble(0), static_cast<float>(16777216.0f / 3));
  const HostTensor wide = RunWide(text, inputs);
  EXPECT_EQ(wide.shape().ToString(), "float64[]");
  EXPECT_EQ(wide.GetDouble(0), 16777217.0 / 3);
}

TEST(InFloat64, KeepsTheValuesOfLiteralsAndWeights) {
  const std::vector<HostTensor> inputs = {Floats({1}, {1})};
  EXPECT_EQ(RunWide("function (A) -> (O) { O = A * 0.1; }", inputs).GetDouble(0), double{0.1f});
  EXPECT_EQ(RunWide("function (A) -> (O) { O = A * as_float(0.1, 32); }", inputs).GetDouble(0),
            double{0.1f});
  EXPECT_EQ(InFloat64(Floats({1}, {0.1f})).GetDouble(0), double{0.1f});
}

TEST(InFloat64, LeavesWhatIsFloat64AlreadyAlone) {
  const std::vector<HostTensor> inputs = {Typed(DataType::kFloat64, {1}, {0.3})};
  const std::string text = "function (A) -> (O) { O = (A > 0.1 ? A * 0.1 : 0); }";
  EXPECT_EQ(RunWide(text, inputs).GetDouble(0), RunTile(text, inputs).GetDouble(0));
  EXPECT_EQ(RunWide(text, inputs).GetDouble(0), 0.3 * 0.1);
}

TEST(InFloat64, CastsToNarrowerFloatsRoundNoMore) {
  const std::vector<HostTensor> inputs = {Floats({2}, {1.0f / 3, 1e6f})};
  const HostTensor wide = RunWide("function (A) -> (O) { O = as_float(A, 16); }", inputs);
  EXPECT_THAT(wide.ToDoubles(), ElementsAre(double{1.0f / 3}, 1e6));
}

TEST(InFloat64, FunctionsOfIntegersGiveFloat64) {
  const std::vector<HostTensor> inputs = {Ints(DataType::kInt32, {1}, {2})};
  EXPECT_EQ(RunWide("function (A) -> (O) { O = sqrt(A); }", inputs).GetDouble(0), std::sqrt(2.0));
  EXPECT_EQ(RunWide("function (A) -> (O) { O = A * 0.5; }", inputs).GetDouble(0), 1.0);
}

TEST(InFloat64, LeavesIntegersAlone) {
  const int64_t big = (int64_t{1} << 62) + 1;
  const std::vector<HostTensor> inputs = {Ints(DataType::kInt64, {1}, {big})};
  const HostTensor wide =
      RunWide("function (A) -> (O) { O = A - as_int(4611686018427387904, 64); }", inputs);
  EXPECT_EQ(wide.shape().ToString(), "int64[1]");
  EXPECT_EQ(wide.GetInt(0), 1);
}

TEST(InFloat64, KeepsRandomNumbers) {
  const std::vector<HostTensor> inputs = {Ints(DataType::kUInt32, {2}, {1, 2})};
  const std::string text = "function (S) -> (O) { O = prng(S, 5); }";
  EXPECT_EQ(RunWide(text, inputs).ToDoubles(), RunTile(text, inputs).ToDoubles());
}

}  // namespace
}  // namespace tartan::ir
