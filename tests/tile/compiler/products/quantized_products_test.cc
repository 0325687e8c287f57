// SPDX-License-Identifier: Apache-2.0
// Tests which float32 matmuls are computed with int8 factors when the precision allows it, and that
// kernels agree with the rewritten program.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/products/quantized_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler::quantized_test {
namespace {

class QuantizedProductsTest : public testing::TestWithParam<std::tuple<QuantizedCase, int>> {};

TEST_P(QuantizedProductsTest, AddUpSeveralIntegersAtATime) {
  const auto& [test, products] = GetParam();
  const auto list = Compile(Bind(test.product), OptionsForIntegers(IntegerSettings(products)));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(CountIntegerDots(*list), 1);
  const std::vector<HostTensor> inputs = UnevenNumbers(test.product);
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ExpectQuantizationErrors(test, inputs, (*actual)[0]);
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedProductsTest,
                         testing::Combine(testing::ValuesIn(QuantizedCases()),
                                          testing::Values(2, 4)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).product.name, "By",
                                               std::get<1>(info.param));
                         });

// Counts the kernels that use int8 factors.
int Chosen(const MatrixProgram& test, const CompileOptions& options) {
  const auto list = Compile(Bind(test), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? CountIntegerDots(*list) : -1;
}

const MatrixProgram kLayer = {"Layer", kMatMul, {{128, 96}, {96, 128}}, {false, true}};

TEST(QuantizedProducts, NeedThePrecisionTheDeviceAndTheTier) {
  const CompileOptions options = OptionsForIntegers(IntegerSettings(4));
  EXPECT_EQ(Chosen(kLayer, options), 1);
  for (const Precision precision : {Precision::kFloat32, Precision::kTf32, Precision::kBFloat16}) {
    CompileOptions others = options;
    others.precision = precision;
    EXPECT_EQ(Chosen(kLayer, others), 0) << Name(precision);
  }
  EXPECT_EQ(Chosen(kLayer, OptionsForIntegers(IntegerSettings(1))), 0);
  CompileOptions ready = options;
  ready.tier = Tier::kReady;
  EXPECT_EQ(Chosen(kLayer, ready), 0);
  CompileOptions exact = options;
  exact.in_float64 = true;
  EXPECT_EQ(Chosen(kLayer, exact), 0);
  CompileOptions without = options;
  without.disabled_passes = {"quantize"};
  EXPECT_EQ(Chosen(kLayer, without), 0);
}

// A training step's weights are states, so they are not known at load.
TEST(QuantizedProducts, NeedWeightsThatAreKnownAtLoad) {
  MatrixProgram test = kLayer;
  test.is_constant = {};
  EXPECT_EQ(Chosen(test, OptionsForIntegers(IntegerSettings(4))), 0);
}

TEST(QuantizedProducts, NeedEnoughUsesOfWhatIsPackedAtEachRun) {
  const CompileOptions options = OptionsForIntegers(IntegerSettings(4));
  EXPECT_EQ(Chosen({"ManyColumns", kMatMul, {{300, 64}, {64, 16}}, {false, true}}, options), 1);
  EXPECT_EQ(Chosen({"FewColumns", kMatMul, {{300, 64}, {64, 15}}, {false, true}}, options), 0);
}

// Constants are packed at load, so packing pays off for few rows.
TEST(IntegerProducts, OfFewRowsByConstantsAddUpSeveralAtATime) {
  MatrixProgram test = {"OneRow",
                        "function (A[M, L], B[L, N]) -> (C) { P = as_int(A, 32); Q = as_int(B, 32);"
                        " C[i, j : M, N] = +(P[i, k] * Q[k, j]); }",
                        {{1, 512}, {512, 256}},
                        {false, true},
                        DataType::kInt8};
  CompileOptions options = OptionsForIntegers(IntegerSettings(4));
  options.precision = Precision::kFloat32;
  EXPECT_EQ(Chosen(test, options), 1);
  const auto [program, inputs, expected] = CaseOf(test);
  const auto list = Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], expected[0], 0), "");
  test.is_constant = {};
  EXPECT_EQ(Chosen(test, options), 0);
}

// Small matmuls stay in float32 on GPUs: an additional launch costs more than it saves.
TEST(QuantizedProducts, AreLargeOnGpus) {
  HardwareSettings gpu = MatrixSettings();
  gpu.matrix_local_bytes = 0;
  gpu.packed_dot_width = 4;
  const CompileOptions options = OptionsForIntegers(gpu);
  EXPECT_EQ(Chosen({"Large", kMatMul, {{1024, 1024}, {1024, 512}}, {false, true}}, options), 1);
  EXPECT_EQ(Chosen({"Convolution",
                    "function (D[N, CI, X, Y], K[CO, CI, I, J]) -> (O) { O[n, co, x, y : N, CO, X, "
                    "Y] = +(D[n, ci, x+i-1, y+j-1] * K[co, ci, i, j]); }",
                    {{1, 128, 64, 64}, {128, 128, 3, 3}},
                    {false, true}},
                   options),
            1);
  EXPECT_EQ(Chosen({"Less", kMatMul, {{512, 1024}, {1024, 512}}, {false, true}}, options), 0);
}

}  // namespace
}  // namespace tartan::compiler::quantized_test
