// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler {
namespace {

using testing::HasSubstr;
using testing::Not;

CompileOptions ForCpu() {
  CompileOptions options;
  options.settings.packed_dot_width = 2;
  return options;
}

CompileOptions ForGpu() {
  CompileOptions options;
  options.settings.threads = 64;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  options.settings.packed_dot_width = 4;
  return options;
}

class CompiledProgramTest : public testing::TestWithParam<TestProgram> {
 protected:
  // Compiles, interprets the kernels, and compares the results with the naive evaluator.
  void Check(const CompileOptions& options, double tolerance = 1e-5) {
    const ir::Program program = BindTestProgram(GetParam());
    const std::vector<HostTensor> inputs = RandomInputs(GetParam(), 1);
    const auto expected = ir::EvaluateNaively(program, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto list = Compile(program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    const auto actual = InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << ir::ToString(program);
    ASSERT_EQ(actual->size(), expected->size());
    const bool half = GetParam().inputs[0].type == DataType::kFloat16 ||
                      GetParam().inputs[0].type == DataType::kBFloat16;
    for (size_t o = 0; o < actual->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], half ? 1e-2 : tolerance), "")
          << "output " << o << " of\n"
          << ir::ToString(program);
    }
  }
};

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorOnACpuPlan) { Check(ForCpu()); }

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorOnAGpuPlan) { Check(ForGpu()); }

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWhereSizesAreArguments) {
  for (int64_t width : {4, 8, 16}) {
    CompileOptions options = ForCpu();
    options.tier = Tier::kReady;
    options.settings.vector_width = width;
    options.settings.compute_units = 3;
    Check(options);
  }
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWhereSizesAreArgumentsOnAGpu) {
  CompileOptions options = ForGpu();
  options.tier = Tier::kReady;
  Check(options);
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWithWideIndices) {
  CompileOptions options = ForCpu();
  options.force_64bit_indices = true;
  Check(options);
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWithWinogradsAlgorithm) {
  CompileOptions options = ForCpu();
  options.winograd = plan::Winograd::kAlways;
  Check(options, 1e-4);
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWithBytesInWords) {
  CompileOptions options = ForCpu();
  options.settings.packed_dot_width = 4;
  Check(options);
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWithUnsignedBytesInWords) {
  CompileOptions options = ForCpu();
  options.settings.packed_dot_width = 4;
  options.settings.packs_unsigned = true;
  Check(options);
}

TEST_P(CompiledProgramTest, EqualsTheNaiveEvaluatorWithoutFusion) {
  CompileOptions options = ForCpu();
  options.disabled_passes = {"fuse"};
  Check(options);
}

INSTANTIATE_TEST_SUITE_P(All, CompiledProgramTest, testing::ValuesIn(TestPrograms()),
                         [](const auto& info) { return info.param.name; });

int KernelCount(const std::string& name) {
  for (const TestProgram& program : TestPrograms()) {
    if (program.name != name) continue;
    CompileOptions options = ForCpu();
    options.disabled_passes = {"pad-inputs"};  // would add launches
    const auto list = Compile(BindTestProgram(program), options);
    EXPECT_TRUE(list.ok()) << list.status();
    return static_cast<int>(list->steps.size());
  }
  ADD_FAILURE() << "no program " << name;
  return -1;
}

TEST(Fusion, ElementwiseOperationsJoinTheContractionBeforeThem) {
  EXPECT_EQ(KernelCount("MatMulBiasRelu"), 1);
  EXPECT_EQ(KernelCount("SameConvolution"), 1);
  EXPECT_EQ(KernelCount("ChannelsFirstConvolution"), 1);
  EXPECT_EQ(KernelCount("GroupedConvolution"), 1);
  EXPECT_EQ(KernelCount("MatMulFlattenAdd"), 1);
  EXPECT_EQ(KernelCount("ResidualBlock"), 2);
}

TEST(Fusion, ElementMovesCostNoKernel) {
  EXPECT_EQ(KernelCount("TransposeThenAdd"), 1);
  EXPECT_EQ(KernelCount("PadWithDefault"), 1);
  EXPECT_EQ(KernelCount("Concatenation"), 1);
  EXPECT_EQ(KernelCount("SliceOfSum"), 1);
}

TEST(Fusion, RowWiseNormalisationsTakeOneKernel) {
  EXPECT_EQ(KernelCount("Softmax"), 1);
  EXPECT_EQ(KernelCount("LayerNormalization"), 1);
}

TEST(Fusion, FactorsOfNarrowProductsAreMadeByAKernelEach) {
  EXPECT_EQ(KernelCount("NarrowProduct"), 3);
  EXPECT_EQ(KernelCount("NarrowProductsWithZeroPointsOfRowsAndColumns"), 3);
  EXPECT_EQ(KernelCount("ProductOfInt16"), 3);
  EXPECT_EQ(KernelCount("NarrowConvolutionInGroupsWithStridesAndDilation"), 3);
}

TEST(Fusion, FactorsThatDoubleManyTimesAreNotComputedAnewForEachUse) {
  std::string code = "function (A[M, L]) -> (C) { X0 = as_int(A, 32); ";
  for (int i = 1; i <= 60; ++i) {
    absl::StrAppend(&code, "X", i, " = X", i - 1, " + X", i - 1, "; ");
  }
  absl::StrAppend(&code, "C[i, j : M, M] = +(X60[i, k] * X60[j, k]); }");
  const TestProgram program = {"Doubled", code, {{DataType::kInt8, {64, 64}}}};
  const auto list = Compile(BindTestProgram(program), ForCpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_LT(list->steps.size(), 20u);
}

TEST(Fusion, InputsAndEmptyTensorsNeedNoKernel) {
  EXPECT_EQ(KernelCount("PassThrough"), 1);
  EXPECT_EQ(KernelCount("EmptyOutput"), 0);
}

std::string KernelsOf(const TestProgram& program) {
  std::string text;
  CompileOptions options = ForCpu();
  CompileHooks hooks;
  hooks.dump = [&](absl::string_view stage, absl::string_view dump) {
    if (stage == "simplified") absl::StrAppend(&text, dump);
  };
  EXPECT_TRUE(Compile(BindTestProgram(program), options, hooks).ok());
  return text;
}

TEST(Stores, GoPastTheCachesWhereTheOutputIsLargerThanTheyAre) {
  const std::string code = "function (A) -> (O) { O = exp(A) * 2; }";
  EXPECT_THAT(KernelsOf({"Large", code, {{DataType::kFloat32, {4096, 4096}}}}),
              HasSubstr("aligned streamed"));
  EXPECT_THAT(KernelsOf({"Small", code, {{DataType::kFloat32, {1024, 1024}}}}),
              Not(HasSubstr("streamed")));
  // Rows of 4095 floats leave vectors unaligned.
  EXPECT_THAT(KernelsOf({"Ragged", code, {{DataType::kFloat32, {4095, 4095}}}}),
              Not(HasSubstr("streamed")));
}

TEST(Logistic, IsFoundInQuotients) {
  const TensorShape shape{DataType::kFloat32, {64}};
  EXPECT_THAT(KernelsOf({"Sigmoid", "function (A) -> (O) { O = 1 / (1 + exp(-A)); }", {shape}}),
              HasSubstr("sigmoid("));
  EXPECT_THAT(KernelsOf({"Swish", "function (A) -> (O) { O = A / (exp(-A) + 1); }", {shape}}),
              HasSubstr("sigmoid("));
  EXPECT_THAT(KernelsOf({"Other", "function (A) -> (O) { O = A / (2 + exp(-A)); }", {shape}}),
              Not(HasSubstr("sigmoid(")));
}

TEST(Transposes, LoadSquaresAndTransposeThem) {
  const std::string code = "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }";
  const std::string text = KernelsOf({"Square", code, {{DataType::kFloat32, {64, 64}}}});
  EXPECT_THAT(text, HasSubstr("shuffle("));
  EXPECT_THAT(
      KernelsOf({"Copy", "function (A) -> (O) { O = A + 1; }", {{DataType::kFloat32, {64, 64}}}}),
      Not(HasSubstr("shuffle(")));
}

TEST(Windows, LeaveNoConditionInsideButThatOfTheirRows) {
  const TestProgram last = {
      "Last",
      "function (D[N, Y, X, C], K[I, J, C]) -> (R) { R[n, y, x, c : N, Y, X, C] = "
      "+(D[n, y+i-1, x+j-1, c] * K[i, j, c]); }",
      {{DataType::kFloat32, {1, 28, 28, 64}}, {DataType::kFloat32, {3, 3, 64}}}};
  EXPECT_THAT(KernelsOf(last), Not(HasSubstr("+ cond(")));
  const TestProgram first = {
      "First",
      "function (D[N, C, Y, X], K[C, I, J]) -> (R) { R[n, c, y, x : N, C, Y, X] = "
      "+(D[n, c, y+i-1, x+j-1] * K[c, i, j]); }",
      {{DataType::kFloat32, {1, 64, 28, 28}}, {DataType::kFloat32, {64, 3, 3}}}};
  const std::string text = KernelsOf(first);
  EXPECT_THAT(text, Not(HasSubstr("+ cond(")));
  // Windows at the edge use a part of a vector.
  EXPECT_THAT(text, HasSubstr("shuffle("));
}

TEST(Windows, KeepInfiniteFactorsOutsideThePictureOut) {
  for (const char* code : {"function (D[Y, X, C], K[I, J, C]) -> (R) { R[y, x, c : Y, X, C] = "
                           "+(D[y+i-1, x+j-1, c] * K[i, j, c]); }",
                           "function (D[C, Y, X], K[C, I, J]) -> (R) { R[c, y, x : C, Y, X] = "
                           "+(D[c, y+i-1, x+j-1] * K[c, i, j]); }"}) {
    const bool is_last = std::string(code).find("D[Y") != std::string::npos;
    TestProgram test = {"Infinite", code, {}};
    if (is_last) {
      test.inputs = {{DataType::kFloat32, {9, 19, 16}}, {DataType::kFloat32, {3, 3, 16}}};
    } else {
      test.inputs = {{DataType::kFloat32, {16, 9, 19}}, {DataType::kFloat32, {16, 3, 3}}};
    }
    const ir::Program program = BindTestProgram(test);
    std::vector<HostTensor> inputs = RandomInputs(test, 1);
    // Puts infinities into the left column of the first channel's window.
    std::vector<float> window(144, 1);
    for (int i = 0; i < 3; ++i) {
      window[is_last ? i * 48 : i * 3] = std::numeric_limits<float>::infinity();
    }
    inputs[1] = HostTensor::FromVector(test.inputs[1], window);
    const auto expected = ir::EvaluateNaively(program, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto list = Compile(program, ForCpu());
    ASSERT_TRUE(list.ok()) << list.status();
    const auto actual = InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "") << code;
  }
}

TEST(Compile, IsDeterministic) {
  for (const TestProgram& program : TestPrograms()) {
    std::string first, second;
    for (std::string* text : {&first, &second}) {
      CompileOptions options;
      CompileHooks hooks;
      hooks.dump = [text](absl::string_view stage, absl::string_view dump) {
        text->append(stage.data(), stage.size()).append(dump.data(), dump.size());
      };
      ASSERT_TRUE(Compile(BindTestProgram(program), options, hooks).ok());
    }
    EXPECT_EQ(first, second) << program.name;
  }
}

TEST(Compile, WritesOneKernelForChainsThatDifferInNames) {
  const auto list = Compile(
      BindTestProgram({"Softmaxes",
                       "function (A[M, N], B[M, N]) -> (P, Q) { "
                       "X[m, 0 : M, 1] = >(A[m, n]); E = exp(A - X); S[m, 0 : M, 1] = +(E[m, n]); "
                       "P = E / S; "
                       "Y[m, 0 : M, 1] = >(B[m, n]); F = exp(B - Y); T[m, 0 : M, 1] = +(F[m, n]); "
                       "Q = F / T; }",
                       {{DataType::kFloat32, {16, 40}}, {DataType::kFloat32, {16, 40}}}}),
      ForCpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 2u);
  EXPECT_EQ(list->kernels.size(), 1u);
}

TEST(Compile, DoesWorkOnConstantsOnce) {
  ir::Program program =
      BindTestProgram({"Setup",
                       "function (A, B) -> (O) { S = exp(B) * 2; T[i, j : 3, 2] = +(S[k, j] * S[k, "
                       "i]); O = A + T; }",
                       {{DataType::kFloat32, {3, 2}}, {DataType::kFloat32, {4, 3}}}});
  std::get<ir::Input>(program.values[program.inputs[1]].op).is_constant = true;
  const auto list = Compile(program, ForCpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 1u);
  EXPECT_FALSE(list->setup.empty());
}

TEST(Compile, ScalesAndShiftsByValuesMadeAtLoad) {
  ir::Program program = BindTestProgram(
      {"Normalise",
       "function (X, G, B, M, V) -> (O) { S = G / sqrt(V + 1.0e-5); O = X * S + (B - M * S); }",
       {{DataType::kFloat32, {20, 6}},
        {DataType::kFloat32, {6}},
        {DataType::kFloat32, {6}},
        {DataType::kFloat32, {6}},
        {DataType::kFloat32, {6}}}});
  const auto of_variables = Compile(program, ForCpu());
  ASSERT_TRUE(of_variables.ok()) << of_variables.status();
  EXPECT_TRUE(of_variables->setup.empty());
  for (size_t i = 1; i < program.inputs.size(); ++i) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  const auto list = Compile(program, ForCpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->setup.size(), 2u);
  ASSERT_EQ(list->steps.size(), 1u);
  // X, the scale, the shift and the output
  EXPECT_EQ(std::get<LaunchStep>(list->steps[0]).buffers.size(), 4u);
}

}  // namespace
}  // namespace tartan::compiler
