// SPDX-License-Identifier: Apache-2.0
// Measures rounding errors of long sums on the device, against the naive evaluator in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

struct Case {
  TestProgram program;
  int64_t terms = 0;  // terms of each sum, and of each of its partial sums

  // Minimum improvement over sequential summation. On CPUs, two chains improve the error 1.4 times,
  // and K chunks of 64 and 128 terms improve it more. On GPUs a work-item has one chain.
  double LeastGain() const {
    if (TestSettings().threads > 1) return 0.9;
    return terms < 128 ? 1.2 : terms < 512 ? 1.5 : 2;
  }
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.program.name; }

constexpr char kProduct[] =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
constexpr char kConvolution[] =
    "function (D[N, Y, X, C], K[I, J, C, O]) -> (R) { R[n, y, x, o : N, Y, X, O] = "
    "+(D[n, y+i-1, x+j-1, c] * K[i, j, c, o]); }";

TensorShape Floats(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

// Scales a row by the sum of a row; both are fused into one kernel.
constexpr char kScaledRows[] =
    "function (A[M, N], B[M, N]) -> (O) { S[m, 0 : M, 1] = +(A[m, n] * B[m, n]); O = A * S; }";

std::vector<Case> Cases() {
  return {{{"Product72", kProduct, {Floats({24, 72}), Floats({72, 64})}}, 72},
          {{"ProductsOfPoints",
            "function (A[P, M, L], B[P, L, N]) -> (C) "
            "{ C[p, i, j : P, M, N] = +(A[p, i, k] * B[p, k, j]); }",
            {Floats({16, 49, 96}), Floats({16, 96, 64})}},
           96},
          {{"MeanOfPositions",
            "function (A[N, H, W, C]) -> (O) { S[n, c : N, C] = +(A[n, y, x, c]); O = S / 169.0; }",
            {Floats({1, 13, 13, 1000})}},
           169},
          {{"MeanOfFewPositions",
            "function (A[N, H, W, C]) -> (O) { S[n, c : N, C] = +(A[n, y, x, c]); O = S / 49.0; }",
            {Floats({1, 7, 7, 960})}},
           49},
          {{"ScaledRows", kScaledRows, {Floats({8, 1 << 17}), Floats({8, 1 << 17})}}, 1 << 11},
          {{"Product200", kProduct, {Floats({24, 200}), Floats({200, 64})}}, 200},
          {{"Product769", kProduct, {Floats({24, 769}), Floats({769, 64})}}, 769},
          {{"Product3072", kProduct, {Floats({24, 3072}), Floats({3072, 64})}}, 3072},
          {{"ProductOfOneRow", kProduct, {Floats({1, 2048}), Floats({2048, 96})}}, 2048},
          {{"Convolution", kConvolution, {Floats({1, 9, 11, 128}), Floats({3, 3, 128, 40})}}, 1152},
          {{"SumOfColumns",
            "function (A[M, N]) -> (O) { O[n : N] = +(A[m, n]); }",
            {Floats({4096, 40})}},
           4096}};
}

class SumAccuracyTest : public testing::TestWithParam<Case> {};

// Terms have random signs. Sequential summation of n terms has a mean relative error of 0.3 sqrt(n)
// units of 2^-24.
TEST_P(SumAccuracyTest, IsThatOfSumsInRuns) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const TestProgram& program = GetParam().program;
  const std::vector<HostTensor> inputs = RandomInputs(program, 5);
  std::vector<HostTensor> wide;
  for (const HostTensor& input : inputs) wide.push_back(ir::InFloat64(input));
  const auto exact = ir::EvaluateNaively(ir::InFloat64(BindTestProgram(program)).value(), wide);
  ASSERT_TRUE(exact.ok()) << exact.status();
  const auto loaded = LoadedProgram::Load(*TestProgramCache().Get(ToProto(program)), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto actual = (*loaded)->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  double errors = 0;
  double squares = 0;
  for (int64_t i = 0; i < exact->front().element_count(); ++i) {
    const double wanted = exact->front().GetDouble(i);
    errors += std::pow(actual->front().GetDouble(i) - wanted, 2);
    squares += wanted * wanted;
  }
  const double units = std::sqrt(errors / squares) / 0x1p-24;
  const double chain = 0.3 * std::sqrt(static_cast<double>(GetParam().terms));
  RecordProperty("units", std::to_string(units));
  EXPECT_LE(units, chain / GetParam().LeastGain()) << "one chain has " << chain;
}

INSTANTIATE_TEST_SUITE_P(All, SumAccuracyTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.program.name; });

}  // namespace
}  // namespace tartan::evaluator
