// SPDX-License-Identifier: Apache-2.0
// Tests attention with its gradients on a matrix unit, on the available OpenCL device, against the
// naive evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

struct GradientCase {
  std::string name;
  Precision precision;
  int64_t batch, queries, keys, depth;
  int fused;  // launches with matmuls in rows
  std::string logits = "P * 0.125";
};

// Rounds a value between two operations as training in this precision does.
std::string Rounded(Precision precision, const std::string& value) {
  if (precision == Precision::kBFloat16)
    return absl::StrCat("as_float(as_bfloat(", value, "), 32)");
  if (precision == Precision::kFloat16)
    return absl::StrCat("as_float(as_float(", value, ", 16), 32)");
  return value;
}

// The gradient DO of the result reads all rows of it, as gradients of later layers do.
TestProgram GradientProgram(const GradientCase& c) {
  const TensorShape queries = F32({c.batch, c.queries, c.depth});
  const TensorShape keys = F32({c.batch, c.keys, c.depth});
  const auto round = [&](const std::string& value) { return Rounded(c.precision, value); };
  return {c.name,
          absl::StrCat("function (Q[B, T, D], K[B, U, D], V[B, U, D], G[B, T, D], A[T, U]) -> "
                       "(O, DV, DQ, DK) { P[b, t, u : B, T, U] = +(Q[b, t, d] * K[b, u, d]); L = ",
                       round(c.logits),
                       "; M[b, t, 0 : B, T, 1] = >(L[b, t, u]); E = exp(L - M); "
                       "S[b, t, 0 : B, T, 1] = +(E[b, t, u]); W = ",
                       round("E / S"),
                       "; O[b, t, d : B, T, D] = +(W[b, t, u] * V[b, u, d]); C[b, 0, d : B, 1, D] "
                       "= +(O[b, t, d]); DO = ",
                       round("C * 0.01 - G"),
                       "; DV[b, u, d : B, U, D] = +(W[b, t, u] * DO[b, t, d]); "
                       "D1[b, t, u : B, T, U] = +(DO[b, t, d] * V[b, u, d]); DW = ",
                       round("D1"), "; X[b, t, 0 : B, T, 1] = +(DW[b, t, u] * W[b, t, u]); DL = ",
                       round("W * (DW - X) * 0.125"),
                       "; DQ[b, t, d : B, T, D] = +(DL[b, t, u] * K[b, u, d]); "
                       "DK[b, u, d : B, U, D] = +(DL[b, t, u] * Q[b, t, d]); }"),
          {queries, keys, keys, queries, F32({c.queries, c.keys})}};
}

// The same with factors that the program itself rounds to bfloat16, as mixed precision in Keras.
// `logits`: an expression of the scores P and of the booleans A[tokens, tokens].
TestProgram ProgramOfNarrowFactors(int64_t batch, int64_t tokens, int64_t depth,
                                   const std::string& logits) {
  const TensorShape all = F32({batch, tokens, depth});
  return {"narrow_factors",
          "function (Q[B, T, D], K[B, U, D], V[B, U, D], G[B, T, D], A[T, U]) -> "
          "(O, DV, DQ, DK) { QH = as_bfloat(Q); KH = as_bfloat(K); VH = as_bfloat(V); "
          "PH[b, t, u : B, T, U] = +(QH[b, t, d] * KH[b, u, d]); P = as_float(PH, 32); L = " +
              logits +
              "; M[b, t, 0 : B, T, 1] = >(L[b, t, u]); E = exp(L - M); "
              "S[b, t, 0 : B, T, 1] = +(E[b, t, u]); WH = as_bfloat(E / S); "
              "OH[b, t, d : B, T, D] = +(WH[b, t, u] * VH[b, u, d]); O = as_float(OH, 32); "
              "C[b, 0, d : B, 1, D] = +(O[b, t, d]); DO = as_bfloat(C * 0.01 - G); "
              "DV[b, u, d : B, U, D] = +(WH[b, t, u] * DO[b, t, d]); "
              "D1[b, t, u : B, T, U] = +(DO[b, t, d] * VH[b, u, d]); DW = as_float(D1, 32); "
              "W = as_float(WH, 32); X[b, t, 0 : B, T, 1] = +(DW[b, t, u] * W[b, t, u]); "
              "DL = as_bfloat(W * (DW - X) * 0.125); "
              "DQ[b, t, d : B, T, D] = +(DL[b, t, u] * KH[b, u, d]); "
              "DK[b, u, d : B, U, D] = +(DL[b, t, u] * QH[b, t, d]); }",
          {all, all, all, all, TensorShape{DataType::kBool, {tokens, tokens}}}};
}

// A layer of Keras in mixed precision and a part of its gradient: a convolution of images with
// channels last, normalised by the batch's statistics.
TestProgram ImageLayer() {
  return {"image_layer",
          "function (X[N, H, W, C], K[O, C, I, J], L[P, O, 1, 1], B[O]) -> (R, DB, DK) { "
          "XH = as_bfloat(X); KH = as_bfloat(K); LH = as_bfloat(L); BH = as_bfloat(B); "
          "T[n, c, y, x : N, C, H, W] = =(XH[n, y, x, c]); "
          "F[n, o, y, x : N, O, H, W] = +(T[n, c, y + i - 1, x + j - 1] * KH[o, c, i, j]); "
          "Y[n, y, x, o : N, H, W, O] = =(F[n, o, y, x]); Z = as_float(Y + BH, 32); "
          "M[0, 0, 0, o : 1, 1, 1, O] = +(Z[n, y, x, o]); D = Z - M / 126.0; Q = D * D; "
          "S[0, 0, 0, o : 1, 1, 1, O] = +(Q[n, y, x, o]); "
          "V = as_bfloat(D * recip(sqrt(S / 126.0 + 0.001))); E = (V > 0 ? V : V * 0.125); "
          "U[n, o, y, x : N, O, H, W] = =(E[n, y, x, o]); "
          "G[n, p, y, x : N, P, H, W] = +(U[n, o, y, x] * LH[p, o, 0, 0]); "
          "R[n, y, x, p : N, H, W, P] = =(G[n, p, y, x]); "
          "DU[n, o, y, x : N, O, H, W] = +(G[n, p, y, x] * LH[p, o, 0, 0]); "
          "DE[n, y, x, o : N, H, W, O] = +(DU[n, o, y, x]); DV = (V > 0 ? DE : DE * 0.125); "
          "DB[o : O] = +(DV[n, y, x, o]); DF[n, o, y, x : N, O, H, W] = +(DV[n, y, x, o]); "
          "DK[o, c, i, j : O, C, 3, 3] = +(T[n, c, y + i - 1, x + j - 1] * DF[n, o, y, x]); }",
          {F32({2, 9, 7, 16}), F32({24, 16, 3, 3}), F32({16, 24, 1, 1}), F32({24})}};
}

// Counts launches with matmuls in rows of a work-group.
int FusedLaunches(const compiler::KernelList& list) {
  return static_cast<int>(
      std::count_if(list.steps.begin(), list.steps.end(), [](const compiler::Step& step) {
        const auto* launch = std::get_if<compiler::LaunchStep>(&step);
        return launch != nullptr && absl::StrContains(launch->plan, "each for 2 rows");
      }));
}

double Largest(const HostTensor& tensor) {
  double largest = 0;
  for (double value : tensor.ToDoubles()) largest = std::max(largest, std::abs(value));
  return largest;
}

// Expects `fused` launches with matmuls in rows, and the results of the naive evaluator. Returns
// the buffers.
std::vector<compiler::BufferInfo> ExpectFused(const TestProgram& test, Precision precision,
                                              int fused, double tolerance) {
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  options.settings.gbps = 1;     // makes scores in memory slow
  options.settings.threads = 2;  // makes matmuls without the matrix unit slow
  options.precision = precision;
  compiler::CompileHooks hooks;
  hooks.describes_launches = true;
  const ir::Program program = BindTestProgram(test);
  const auto list = compiler::Compile(program, options, hooks);
  const std::vector<HostTensor> inputs = RandomInputs(test, 7);
  const auto expected = ir::EvaluateNaively(program, inputs);
  EXPECT_TRUE(list.ok() && expected.ok()) << list.status() << expected.status();
  if (!list.ok() || !expected.ok()) return {};
  EXPECT_EQ(FusedLaunches(*list), fused);
  const std::vector<HostTensor> actual = ListRunner(*list, *TestDevice()).RunAll(inputs);
  for (size_t o = 0; o < expected->size(); ++o) {
    const double largest = Largest((*expected)[o]);
    double error = 0;
    for (int64_t i = 0; i < actual[o].shape().element_count(); ++i) {
      const double one = std::abs(actual[o].GetDouble(i) - (*expected)[o].GetDouble(i));
      error = std::isnan(one) ? INFINITY : std::max(error, one);
    }
    EXPECT_LT(error, largest * tolerance) << "output " << o;
  }
  return list->buffers;
}

class MatrixGradientsDeviceTest : public testing::TestWithParam<GradientCase> {};

TEST_P(MatrixGradientsDeviceTest, EqualTheNaiveEvaluatorsFromRecomputedWeights) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const GradientCase& c = GetParam();
  const double tolerance = c.precision == Precision::kBFloat16 ? 2e-2 : 3e-3;
  ExpectFused(GradientProgram(c), c.precision, c.fused, tolerance);
}

TEST(NarrowFactorsDeviceTest, FuseFactorsOf16BitsWithStrictPrecision) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  for (const char* logits : {"P * 0.125", "A ? P * 0.125 : -1000000.0"}) {
    SCOPED_TRACE(logits);
    ExpectFused(ProgramOfNarrowFactors(2, 100, 64, logits), Precision::kFloat32, 2, 2e-2);
  }
}

TEST(NarrowFactorsDeviceTest, StoreImagesIn16BitsWithChannelsLast) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  for (const compiler::BufferInfo& buffer :
       ExpectFused(ImageLayer(), Precision::kFloat32, 0, 3e-2)) {
    if (buffer.kind != compiler::BufferKind::kTemporary || buffer.shape.rank() != 4) continue;
    if (buffer.shape.dims[0] != 2) continue;  // no images
    EXPECT_EQ(buffer.shape.type, DataType::kBFloat16) << buffer.name;
    EXPECT_EQ(buffer.shape.dims[1], 9) << buffer.name;
    EXPECT_EQ(buffer.shape.dims[2], 7) << buffer.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatrixGradientsDeviceTest,
    testing::Values(
        GradientCase{"Even", Precision::kBFloat16, 2, 128, 128, 64, 2},
        GradientCase{"Odd", Precision::kBFloat16, 2, 133, 133, 32, 2},
        GradientCase{"OddInTf32", Precision::kTf32, 2, 131, 131, 32, 2},
        GradientCase{"OddKeys", Precision::kFloat16, 2, 128, 99, 64, 2},
        // The mask has no padding, so that neither launch has matmuls.
        GradientCase{"OddMask", Precision::kBFloat16, 2, 128, 99, 64, 0, "P * 0.125 + A"},
        GradientCase{"Masked", Precision::kFloat16, 2, 100, 100, 64, 2, "P * 0.125 + A"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::evaluator
