// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/products/quantized_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/loop_ir.h"

namespace tartan {
namespace {

// Computes the error bound E. SW sums (row maximum) * |w|, SX sums |x| * (column maximum), and SO
// sums (row maximum) * (column maximum). A factor is rounded by at most maximum / 254.
constexpr char kError[] = "E = SW / 254 + SX / 254 + SO / 64516; }";

std::vector<QuantizedCase> MakeCases() {
  const std::vector<bool> second = {false, true};
  const std::string rows_by_columns = absl::StrCat(
      "function (A[M, L], B[L, N]) -> (E) { AA = abs(A); AB = abs(B); "
      "X[i, 0 : M, 1] = >(AA[i, k]); W[0, j : 1, N] = >(AB[k, j]); XX = X + AA * 0; "
      "WW = W + AB * 0; SW[i, j : M, N] = +(XX[i, k] * AB[k, j]); "
      "SX[i, j : M, N] = +(AA[i, k] * WW[k, j]); SO[i, j : M, N] = +(XX[i, k] * WW[k, j]); ",
      kError);
  const std::string transposed = absl::StrCat(
      "function (B[N, L], A[M, L]) -> (E) { AA = abs(A); AB = abs(B); "
      "X[i, 0 : M, 1] = >(AA[i, k]); W[j, 0 : N, 1] = >(AB[j, k]); XX = X + AA * 0; "
      "WW = W + AB * 0; SW[j, i : N, M] = +(AB[j, k] * XX[i, k]); "
      "SX[j, i : N, M] = +(WW[j, k] * AA[i, k]); SO[j, i : N, M] = +(WW[j, k] * XX[i, k]); ",
      kError);
  const std::string batch = absl::StrCat(
      "function (A[P, M, L], B[P, L, N]) -> (E) { AA = abs(A); AB = abs(B); "
      "X[p, i, 0 : P, M, 1] = >(AA[p, i, k]); W[p, 0, j : P, 1, N] = >(AB[p, k, j]); "
      "XX = X + AA * 0; WW = W + AB * 0; "
      "SW[p, i, j : P, M, N] = +(XX[p, i, k] * AB[p, k, j]); "
      "SX[p, i, j : P, M, N] = +(AA[p, i, k] * WW[p, k, j]); "
      "SO[p, i, j : P, M, N] = +(XX[p, i, k] * WW[p, k, j]); ",
      kError);
  const auto convolution = [](const std::string& rows, const std::string& sizes,
                              const std::string& places) {
    const std::string to = absl::StrCat("[n, x, y, co : ", sizes, "] = +(");
    return absl::StrCat(
        "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (E) { AD = abs(D); "
        "AK = abs(K); R[",
        rows, "] = >(AD[n, x, y, c]); W[0, 0, 0, co : 1, 1, 1, CO] = ",
        ">(AK[i, j, ci, co]); RR = R + AD * 0; WW = W + AK * 0; SW", to, "RR[", places,
        "] * AK[i, j, ci, co]); SX", to, "AD[", places, "] * WW[i, j, ci, co]); SO", to, "RR[",
        places, "] * WW[i, j, ci, co]); ", kError);
  };
  const std::string image = "n, 0, 0, 0 : N, 1, 1, 1";
  const std::string pixel = "n, x, y, 0 : N, X, Y, 1";
  const std::string padded = "n, x+i-1, y+j-1, ci";
  return {
      {{"Odd", kMatMul, {{43, 67}, {67, 41}}, second}, rows_by_columns},
      {{"Whole", kMatMul, {{64, 64}, {64, 64}}, second}, rows_by_columns},
      {{"OneRow", kMatMul, {{1, 255}, {255, 511}}, second}, rows_by_columns},
      {{"FewRows", kMatMul, {{5, 130}, {130, 301}}, second}, rows_by_columns},
      {{"WeightsFirst",
        "function (B[N, L], A[M, L]) -> (C) { C[j, i : N, M] = +(B[j, k] * A[i, k]); }",
        {{45, 71}, {33, 71}},
        {true, false}},
       transposed},
      {{"Batch",
        "function (A[P, M, L], B[P, L, N]) -> (C) "
        "{ C[p, i, j : P, M, N] = +(A[p, i, k] * B[p, k, j]); }",
        {{3, 34, 35}, {3, 35, 36}},
        second},
       batch},
      {{"Convolution",
        "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, X, Y, CO] = "
        "+(D[n, x+i-1, y+j-1, ci] * K[i, j, ci, co]); }",
        {{2, 9, 7, 11}, {3, 3, 11, 21}},
        second},
       convolution(image, "N, X, Y, CO", padded)},
      {{"StridedConvolution",
        "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, 8, 6, CO] = "
        "+(D[n, 2*x+i, 2*y+j, ci] * K[i, j, ci, co]); }",
        {{1, 17, 13, 9}, {3, 3, 9, 24}},
        second},
       convolution(image, "N, 8, 6, CO", "n, 2*x+i, 2*y+j, ci")},
      {{"PointwiseConvolution",
        "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, 8, 9, CO] = "
        "+(D[n, x+i, y+j, ci] * K[i, j, ci, co]); }",
        {{2, 8, 9, 33}, {1, 1, 33, 40}},
        second},
       convolution(pixel, "N, 8, 9, CO", "n, x+i, y+j, ci")},
      {{"StridedPointwiseConvolution",
        "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, 8, 8, CO] = "
        "+(D[n, 2*x+i, 2*y+j, ci] * K[i, j, ci, co]); }",
        {{1, 15, 16, 33}, {1, 1, 33, 80}},
        second},
       convolution(pixel, "N, 8, 8, CO", "n, 2*x+i, 2*y+j, ci")},
  };
}

std::vector<double> InFloat64(const ir::Program& program, const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> wide;
  for (const HostTensor& input : inputs) wide.push_back(ir::InFloat64(input));
  const auto outputs = ir::EvaluateNaively(ir::InFloat64(program).value(), wide);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

}  // namespace

const std::vector<QuantizedCase>& QuantizedCases() {
  static const auto& cases = *new std::vector<QuantizedCase>(MakeCases());
  return cases;
}

std::vector<HostTensor> UnevenNumbers(const MatrixProgram& program) {
  std::mt19937 random(23);
  std::normal_distribution<float> normal;
  std::vector<HostTensor> inputs;
  for (const std::vector<int64_t>& dims : program.inputs) {
    const TensorShape shape{DataType::kFloat32, dims};
    std::vector<float> values(static_cast<size_t>(shape.element_count()));
    const size_t per_row = values.size() / static_cast<size_t>(dims.front());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<int>(i / per_row % 5);
      const auto column = static_cast<int>(i % static_cast<size_t>(dims.back()) % 3);
      values[i] = std::ldexp(normal(random), 3 * row - 2 * column);
    }
    inputs.push_back(HostTensor::FromVector(shape, values));
  }
  return inputs;
}

void ExpectQuantizationErrors(const QuantizedCase& test, const std::vector<HostTensor>& inputs,
                              const HostTensor& actual) {
  MatrixProgram bound = test.product;
  bound.code = test.bound;
  const std::vector<double> bounds = InFloat64(Bind(bound), inputs);
  const std::vector<double> expected = InFloat64(Bind(test.product), inputs);
  const std::vector<double> results = actual.ToDoubles();
  ASSERT_EQ(results.size(), expected.size());
  ASSERT_EQ(bounds.size(), expected.size());
  constexpr double kRoundings =
      0x1p-20;          // relative float32 rounding of a scale, an integer and a result
  double greatest = 0;  // as a fraction of the bound
  for (size_t i = 0; i < results.size(); ++i) {
    const double error = std::abs(results[i] - expected[i]);
    ASSERT_LE(error, bounds[i] * (1 + 1e-4) + std::abs(expected[i]) * kRoundings) << i;
    if (bounds[i] > 0) greatest = std::max(greatest, error / bounds[i]);
  }
  EXPECT_GT(greatest, 0.05) << "nothing was rounded";
}

HardwareSettings IntegerSettings(int64_t products) {
  HardwareSettings settings;
  settings.vector_width = 16;
  settings.register_bytes = 2048;
  settings.packed_dot_width = products;
  settings.packs_unsigned = products == 4;
  return settings;
}

compiler::CompileOptions OptionsForIntegers(const HardwareSettings& settings) {
  compiler::CompileOptions options;
  options.settings = settings;
  options.precision = Precision::kInt8;
  return options;
}

int CountIntegerDots(const compiler::KernelList& list) {
  return static_cast<int>(
      std::count_if(list.kernels.begin(), list.kernels.end(), [](const loop::Kernel& kernel) {
        const std::string text = loop::ToString(kernel);
        return absl::StrContains(text, "dot8(") || absl::StrContains(text, "dot8u(") ||
               absl::StrContains(text, "dot16(");
      }));
}

}  // namespace tartan
