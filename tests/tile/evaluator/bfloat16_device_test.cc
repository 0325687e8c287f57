// SPDX-License-Identifier: Apache-2.0
// Tests matmuls with bfloat16 factors on a CPU device, with its bfloat16 instruction if it has one.
// Compares the rounding errors with float64, and checks NaN, infinities and subnormal numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/products/bfloat16_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator::bfloat16_test {
namespace {

constexpr double kUnit =
    0x1p-8;  // maximum relative error of a truncated factor; half of it if rounded to nearest

// Vectors may have any width that the device has instructions for.
HardwareSettings SettingsOf(int64_t lanes) {
  return BFloat16Settings(lanes, TestSettings().multiplies_bfloat16);
}

HostTensor RunInWords(const MatrixProgram& test, const std::vector<HostTensor>& inputs,
                      int64_t lanes, int candidate = 0) {
  const HardwareSettings settings = SettingsOf(lanes);
  const auto list = compiler::Compile(Bind(test), OptionsForBFloat16(settings),
                                      PlanForBFloat16(settings, candidate));
  EXPECT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(CountDots(*list), 1);
  return ListRunner(*list, *TestDevice()).Run(inputs);
}

std::vector<HostTensor> Draw(const MatrixProgram& test) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  std::vector<HostTensor> inputs;
  for (const std::vector<int64_t>& dims : test.inputs) {
    int64_t count = 1;
    for (const int64_t size : dims) count *= size;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    inputs.push_back(HostTensor::FromVector({DataType::kFloat32, dims}, values));
  }
  return inputs;
}

class BFloat16DeviceTest : public testing::TestWithParam<std::tuple<MatrixProgram, int>> {
 protected:
  void SetUp() override {
    if (TestSettings().threads > 1) GTEST_SKIP() << "the device is not a CPU";
  }
};

TEST_P(BFloat16DeviceTest, IsExactWhereFactorsAreExact) {
  const auto& [test, lanes] = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  for (const int candidate : {0, 2}) {
    EXPECT_EQ(FirstDifference(RunInWords(test, inputs, lanes, candidate), expected[0], 0), "");
  }
}

// Checks the root mean square error, in units of kUnit. Rounding a factor to nearest gives 0.42 in
// the mean and at most 0.58; a matmul of two rounded factors gives 0.6. Truncation would double
// these errors, and a lost half of a word would add much more.
TEST_P(BFloat16DeviceTest, ErrorsAreThoseOfRoundingTheFactorsToNearest) {
  const auto& [test, lanes] = GetParam();
  const std::vector<HostTensor> inputs = Draw(test);
  std::vector<HostTensor> wide;
  for (const HostTensor& input : inputs) wide.push_back(ir::InFloat64(input));
  const auto exact = ir::EvaluateNaively(ir::InFloat64(Bind(test)).value(), wide);
  ASSERT_TRUE(exact.ok()) << exact.status();
  const std::vector<double> expected = (*exact)[0].ToDoubles();
  const std::vector<double> actual = RunInWords(test, inputs, lanes).ToDoubles();
  ASSERT_EQ(actual.size(), expected.size());
  double errors = 0, squares = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    errors += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    squares += expected[i] * expected[i];
  }
  const double error = std::sqrt(errors / squares);
  EXPECT_LT(error, 0.7 * kUnit);
  EXPECT_GT(error, 0.45 * kUnit) << "nothing was rounded";
}

INSTANTIATE_TEST_SUITE_P(All, BFloat16DeviceTest,
                         testing::Combine(testing::ValuesIn(BFloat16Programs()),
                                          testing::Values(4, 8, 16)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name, "By",
                                               std::get<1>(info.param));
                         });

constexpr int64_t kRows = 24, kDepth = 97, kColumns = 48;
const MatrixProgram kProduct = {
    "Product",
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
    {{kRows, kDepth}, {kDepth, kColumns}}};

class BFloat16NumbersTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (TestSettings().threads > 1) GTEST_SKIP() << "the device is not a CPU";
  }

  std::vector<double> Product(const std::vector<float>& a, const std::vector<float>& b) {
    const HostTensor result =
        RunInWords(kProduct,
                   {HostTensor::FromVector({DataType::kFloat32, {kRows, kDepth}}, a),
                    HostTensor::FromVector({DataType::kFloat32, {kDepth, kColumns}}, b)},
                   GetParam());
    return result.ToDoubles();
  }
  // Row `row` of A has the given values at some indices; all other elements are 1.
  std::vector<float> a = std::vector<float>(kRows * kDepth, 1);
  std::vector<float> b = std::vector<float>(kDepth * kColumns, 1);
};

// The values are in either half of a word, including the last half of an odd K.
TEST_P(BFloat16NumbersTest, KeepInfinitiesAndNumbersThatAreNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float none[] = {std::numeric_limits<float>::quiet_NaN(), -std::nanf(""),
                        std::bit_cast<float>(0x7fffffffu), std::bit_cast<float>(0x7f800001u)};
  const int64_t places[] = {0, 1, 48, 49, 96};
  for (int64_t p = 0; p < 5; ++p) {
    a[p * kDepth + places[p]] = p % 2 == 0 ? kInfinity : -kInfinity;
    b[places[p] * kColumns + 40 + p] = kInfinity;
  }
  for (int64_t n = 0; n < 4; ++n) {
    a[(6 + n) * kDepth + 5] = none[n];
    a[(10 + n) * kDepth + 90] = none[n];
  }
  const std::vector<double> product = Product(a, b);
  const auto at = [&](int64_t i, int64_t j) { return product[i * kColumns + j]; };
  for (int64_t p = 0; p < 5; ++p) {
    EXPECT_EQ(at(p, 3), p % 2 == 0 ? kInfinity : -kInfinity) << p;
    EXPECT_EQ(at(20, 40 + p), kInfinity) << p;
  }
  for (int64_t row = 6; row < 14; ++row) EXPECT_TRUE(std::isnan(at(row, 3))) << row;
  EXPECT_EQ(at(20, 3), double{kDepth});
}

TEST_P(BFloat16NumbersTest, RoundToNearestWithTiesToEven) {
  const float given[] = {257, 259, 1 + 0x1.8p-8f, -257, 0x1p-120f, 3e38f, 0};
  const double rounded[] = {256, 260, 1 + 0x1p-7, -256, 0x1p-120, 0x1.c4p127, 0};
  std::fill(b.begin(), b.end(), 0);
  for (int64_t j = 0; j < kColumns; ++j) b[j] = b[96 * kColumns + j] = 1;
  std::fill(a.begin(), a.end(), 0);
  for (int64_t row = 0; row < 7; ++row) {
    a[2 * row * kDepth] = given[row];
    a[(2 * row + 1) * kDepth + 96] = given[row];
  }
  const std::vector<double> product = Product(a, b);
  for (int64_t row = 0; row < 14; ++row) {
    EXPECT_EQ(product[row * kColumns + 7], rounded[row / 2]) << row;
  }
}

// Instructions may flush subnormal numbers to 0, but must keep normal ones.
TEST_P(BFloat16NumbersTest, MayLoseNumbersBelowTheLeastNormalOne) {
  constexpr float kLeast = std::numeric_limits<float>::min();
  std::fill(b.begin(), b.end(), 0);
  std::fill(a.begin(), a.end(), 0);
  for (int64_t j = 0; j < kColumns; ++j) b[j] = 1;
  a[0] = kLeast / 4;
  a[kDepth] = -kLeast;
  a[2 * kDepth] = 2 * kLeast;
  const std::vector<double> product = Product(a, b);
  EXPECT_LE(std::abs(product[0]), kLeast / 4);
  EXPECT_EQ(product[kColumns], -kLeast);
  EXPECT_EQ(product[2 * kColumns], 2 * kLeast);
}

INSTANTIATE_TEST_SUITE_P(EveryWidth, BFloat16NumbersTest, testing::Values(4, 8, 16));

}  // namespace
}  // namespace tartan::evaluator::bfloat16_test
