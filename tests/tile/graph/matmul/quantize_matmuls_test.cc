// SPDX-License-Identifier: Apache-2.0
// Tests which matmuls are quantized, and with which results. Uses the naive evaluator; compiles no
// kernel.
#include "tile/graph/matmul/quantize_matmuls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/tile/compiler/products/quantized_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/graph/constants.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Quantizes every matmul that permits it.
ir::Program Quantized(const ir::Program& program) {
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  const std::vector<bool> is_constant = FindConstants(program);
  std::set<ValueId> products;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto value = static_cast<ValueId>(v);
    if (IsQuantizable(program, *spaces, is_constant, value)) products.insert(value);
  }
  ir::Program quantized = QuantizeMatmuls(program, *spaces, is_constant, products).program;
  EXPECT_TRUE(ir::VerifyStored(quantized).ok()) << ir::VerifyStored(quantized);
  return quantized;
}

// Counts the values of a type that an operation of `kind` computes.
template <typename Kind>
int64_t CountOf(const ir::Program& program, DataType type) {
  return std::count_if(program.values.begin(), program.values.end(), [&](const ir::Value& value) {
    return value.shape.type == type && std::holds_alternative<Kind>(value.op);
  });
}

int64_t SumsOfIntegers(const ir::Program& program) {
  return CountOf<ir::Contraction>(program, DataType::kInt32);
}

int64_t QuantizedTensors(const ir::Program& program) {
  return CountOf<ir::Elementwise>(program, DataType::kInt8);
}

HostTensor Evaluated(const ir::Program& program, const std::vector<HostTensor>& inputs) {
  const auto outputs = ir::EvaluateNaively(program, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0];
}

class QuantizeProductsTest : public testing::TestWithParam<QuantizedCase> {};

TEST_P(QuantizeProductsTest, ErrorsAreThoseOfRoundingTheFactorsToIntegers) {
  const ir::Program program = Quantized(Bind(GetParam().product));
  EXPECT_EQ(SumsOfIntegers(program), 1);
  EXPECT_EQ(QuantizedTensors(program), 2);
  const std::vector<HostTensor> inputs = UnevenNumbers(GetParam().product);
  ExpectQuantizationErrors(GetParam(), inputs, Evaluated(program, inputs));
}

INSTANTIATE_TEST_SUITE_P(All, QuantizeProductsTest, testing::ValuesIn(QuantizedCases()),
                         [](const auto& info) { return info.param.product.name; });

TEST(QuantizeMatmuls, LeavesOtherSumsAlone) {
  const std::vector<bool> second = {false, true};
  const std::vector<MatrixProgram> others = {
      {"TwoActivations", kMatMul, {{20, 30}, {30, 20}}},
      {"TwoConstants", kMatMul, {{20, 30}, {30, 20}}, {true, true}},
      {"FewTerms", kMatMul, {{20, 15}, {15, 20}}, second},
      {"Depthwise",
       "function (D[N, X, C], K[I, C]) -> (O) { O[n, x, c : N, 10, C] = +(D[n, x+i, c] * K[i, c]); "
       "}",
       {{1, 40, 8}, {31, 8}},
       second},
      {"MatrixByVector",
       "function (A[M, L], B[L]) -> (C) { C[i : M] = +(A[i, k] * B[k]); }",
       {{20, 30}, {30}},
       second},
      {"Float64", kMatMul, {{20, 30}, {30, 20}}, second, DataType::kFloat64},
      {"Integers", kMatMul, {{20, 30}, {30, 20}}, second, DataType::kInt32},
      {"SumsThatLeaveInt32", kMatMul, {{2, 133145}, {133145, 2}}, second},
      {"OfMaxima",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = >(A[i, k] * B[k, j]); }",
       {{20, 30}, {30, 20}},
       second},
      {"ScatteredResults",
       "function (D[X, CO], K[I, CI, CO]) -> (R) { R[2*x + i, ci : 41, CI] = +(D[x, co] * K[i, ci, "
       "co]); }",
       {{20, 30}, {2, 8, 30}},
       second}};
  for (const MatrixProgram& other : others) {
    const ir::Program program = Bind(other);
    EXPECT_EQ(Quantized(program), program) << other.name;
  }
}

TEST(QuantizeMatmuls, QuantizesWhatSeveralProductsReadOnce) {
  const ir::Program program = Quantized(
      Bind({"Products",
            "function (A[M, L], B[L, N], D[L, N]) -> (G, U, H) { G[i, j : M, N] = +(A[i, k] * B[k, "
            "j]); U[i, j : M, N] = +(A[i, k] * D[k, j]); H[j, i : N, M] = +(A[i, k] * B[k, j]); }",
            {{20, 30}, {30, 40}, {30, 40}},
            {false, true, true}}));
  EXPECT_EQ(SumsOfIntegers(program), 3);
  EXPECT_EQ(QuantizedTensors(program), 3);
}

TEST(QuantizeMatmuls, ReadsActivationsByRowsAndByColumns) {
  const ir::Program program = Quantized(
      Bind({"Products",
            "function (A[M, M], B[M, M]) -> (G, U) { G[i, j : M, M] = +(A[i, k] * B[k, j]); "
            "U[i, j : M, M] = +(A[k, i] * B[k, j]); }",
            {{20, 20}, {20, 20}},
            {false, true}}));
  EXPECT_EQ(SumsOfIntegers(program), 2);
  EXPECT_EQ(QuantizedTensors(program), 3) << "A twice";
}

TEST(QuantizeMatmuls, WorksOnWeightsThatAreComputedAtLoad) {
  const ir::Program program = Quantized(
      Bind({"Reshaped",
            "function (A[M, L], B) -> (C) { W = reshape(B * 2, 30, 20); C[i, j : M, 20] = +(A[i, "
            "k] * W[k, j]); }",
            {{20, 30}, {600}},
            {false, true}}));
  EXPECT_EQ(SumsOfIntegers(program), 1);
}

constexpr int64_t kRows = 7, kDepth = 24, kColumns = 10;

// A quantized matmul with chosen rows and columns.
class QuantizedNumbersTest : public testing::Test {
 protected:
  std::vector<double> Matmul() const {
    const ir::Program program =
        Quantized(Bind({"Product", kMatMul, {{kRows, kDepth}, {kDepth, kColumns}}, {false, true}}));
    EXPECT_EQ(SumsOfIntegers(program), 1);
    return Evaluated(program, {HostTensor::FromVector({DataType::kFloat32, {kRows, kDepth}}, a),
                               HostTensor::FromVector({DataType::kFloat32, {kDepth, kColumns}}, b)})
        .ToDoubles();
  }
  void FillRow(int64_t row, float value) { std::fill_n(a.begin() + row * kDepth, kDepth, value); }
  std::vector<float> a = std::vector<float>(kRows * kDepth, 1);
  std::vector<float> b = std::vector<float>(kDepth * kColumns, 1);
};

TEST_F(QuantizedNumbersTest, RowsAndColumnsOfZerosGiveZeros) {
  FillRow(2, 0);
  FillRow(3, -0.0f);
  for (int64_t k = 0; k < kDepth; ++k) b[k * kColumns + 4] = 0;
  const std::vector<double> product = Matmul();
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const bool is_zero = i == 2 || i == 3 || j == 4;
      EXPECT_NEAR(product[i * kColumns + j], is_zero ? 0 : kDepth, is_zero ? 0 : 1e-4);
    }
  }
}

TEST_F(QuantizedNumbersTest, InfinitiesAndNumbersThatAreNoneMakeTheirRowsAndColumnsNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  a[1 * kDepth + 3] = kInfinity;
  a[2 * kDepth + 23] = -kInfinity;
  a[4 * kDepth] = std::numeric_limits<float>::quiet_NaN();
  b[5 * kColumns + 6] = -kInfinity;
  b[23 * kColumns + 9] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<double> product = Matmul();
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const bool is_none = i == 1 || i == 2 || i == 4 || j == 6 || j == 9;
      EXPECT_EQ(std::isnan(product[i * kColumns + j]), is_none) << i << ", " << j;
    }
  }
}

TEST_F(QuantizedNumbersTest, GreatAndSmallRowsKeepTheirResults) {
  const float sizes[kRows] = {1e38f, 1e-29f, -1e-32f, 1e-38f, 1e-45f, 3e20f, 1};
  for (int64_t i = 0; i < kRows; ++i) FillRow(i, sizes[i]);
  std::fill(b.begin(), b.end(), 1e-3f);
  const std::vector<double> product = Matmul();
  for (int64_t i = 0; i < kRows; ++i) {
    const double exact = kDepth * double{sizes[i]} * 1e-3;
    // Each multiplication is off by at most half a quantization step of its row.
    const double step = std::max(std::abs(double{sizes[i]}), 0x1p-100) / 127;
    EXPECT_NEAR(product[i * kColumns + 5], exact,
                kDepth * 1e-3 * step / 2 * 1.001 + 1e-6 * std::abs(exact))
        << sizes[i];
  }
}

}  // namespace
}  // namespace tartan::graph
