// SPDX-License-Identifier: Apache-2.0
// Compares matrix-unit matmuls with float64. Errors come from rounding the factors and must be
// unbiased. Also checks NaN and infinities.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::lower {
namespace {

constexpr int64_t kRows = 24, kColumns = 40, kDepth = 96;

// The order in which the second factor is stored; constants are along K.
enum class Right { kAlongK, kConstant, kAlongColumns };

// Returns C = A B^T in a format.
std::vector<double> Product(const std::vector<float>& a, std::vector<float> b, MatrixFormat format,
                            Right right) {
  const bool is_along_columns = right == Right::kAlongColumns;
  const std::vector<int64_t> right_dims = is_along_columns ? std::vector<int64_t>{kDepth, kColumns}
                                                           : std::vector<int64_t>{kColumns, kDepth};
  const MatrixProgram test = {
      "Product",
      is_along_columns
          ? "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }"
          : "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
      {{kRows, kDepth}, right_dims},
      {false, right == Right::kConstant}};
  if (is_along_columns) {
    const std::vector<float> rows = b;
    for (int64_t i = 0; i < kColumns * kDepth; ++i) {
      b[i % kDepth * kColumns + i / kDepth] = rows[i];
    }
  }
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  std::string plans;
  const auto list = compiler::Compile(Bind(test), options, PlanForMatrixUnit(format, 0, &plans));
  EXPECT_TRUE(list.ok()) << list.status();
  const std::vector<HostTensor> inputs = {
      HostTensor::FromVector({DataType::kFloat32, {kRows, kDepth}}, a),
      HostTensor::FromVector({DataType::kFloat32, right_dims}, b)};
  const auto outputs = compiler::InterpretList(*list, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

// Returns the maximum relative error of a factor rounded to nearest.
double UnitOf(MatrixFormat format) { return format == MatrixFormat::kBFloat16 ? 0x1p-9 : 0x1p-11; }

class MatrixAccuracyTest : public testing::TestWithParam<std::tuple<MatrixFormat, Right>> {};

TEST_P(MatrixAccuracyTest, ErrorsAreThoseOfRoundingTheFactorsToNearest) {
  const auto [format, right] = GetParam();
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> a(kRows * kDepth), b(kColumns * kDepth);
  for (float& value : a) value = normal(random);
  for (float& value : b) value = normal(random);
  const std::vector<double> product = Product(a, b, format, right);
  const double unit = UnitOf(format);
  double greatest = 0, lean = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      double exact = 0, size = 0;
      for (int64_t k = 0; k < kDepth; ++k) {
        const double term = double{a[i * kDepth + k]} * b[j * kDepth + k];
        exact += term;
        size += std::abs(term);
      }
      const double error = (product[i * kColumns + j] - exact) / size;
      greatest = std::max(greatest, std::abs(error));
      lean += error * (exact < 0 ? -1 : 1) / (kRows * kColumns);
    }
  }
  EXPECT_LT(greatest, 2.1 * unit);
  EXPECT_GT(greatest, 0.02 * unit) << "nothing was rounded";
  // Truncation would bias sums by half a unit per factor.
  EXPECT_LT(std::abs(lean), 0.02 * unit);
}

TEST_P(MatrixAccuracyTest, KeepsInfinitiesAndNumbersThatAreNone) {
  const auto [format, right] = GetParam();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // NVIDIA GPUs produce the last NaN; rounding it by an integer addition would overflow to 0.
  const float none[] = {std::numeric_limits<float>::quiet_NaN(), -std::nanf(""),
                        std::bit_cast<float>(0x7fffffffu)};
  for (const bool in_a : {false, true}) {
    std::vector<float> a(kRows * kDepth, 1), b(kColumns * kDepth, 1);
    std::vector<float>& in = in_a ? a : b;
    in[0] = kInfinity;
    in[kDepth] = -kInfinity;
    for (int64_t n = 0; n < 3; ++n) in[(n + 2) * kDepth + 5] = none[n];
    const std::vector<double> product = Product(a, b, format, right);
    const auto at = [&](int64_t line) { return product[in_a ? line * kColumns : line]; };
    EXPECT_EQ(at(0), kInfinity);
    EXPECT_EQ(at(1), -kInfinity);
    for (int64_t n = 0; n < 3; ++n) EXPECT_TRUE(std::isnan(at(n + 2))) << n;
    EXPECT_EQ(at(5), double{kDepth});
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatrixAccuracyTest,
    testing::Combine(testing::Values(MatrixFormat::kTf32, MatrixFormat::kBFloat16,
                                     MatrixFormat::kFloat16),
                     testing::Values(Right::kAlongK, Right::kConstant, Right::kAlongColumns)),
    [](const auto& info) {
      const Right right = std::get<1>(info.param);
      return std::string(Name(std::get<0>(info.param))) +
             (right == Right::kConstant       ? "WithConstant"
              : right == Right::kAlongColumns ? "WithRightAlongColumns"
                                              : "");
    });

}  // namespace
}  // namespace tartan::lower
