// SPDX-License-Identifier: Apache-2.0
// Tests row fusion (softmax, layer norm in one kernel): which kernels are fused, and that results
// agree with the naive evaluator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/row_programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::row_chains_test {
namespace {

CompileOptions ForCpu() {
  CompileOptions options;
  options.settings.compute_units = 2;
  return options;
}

// `registers` is the number of registers of a compute unit.
CompileOptions ForGpu(int64_t threads, int64_t registers = 65536) {
  CompileOptions options;
  options.settings.threads = threads;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  options.settings.max_work_group_size = threads;
  options.settings.register_bytes = registers;
  options.settings.compute_units = 2;
  options.disabled_passes.insert("fuse-attention");  // tested in product_chains_test.cc
  // Producer recomputation could merge kernels that row fusion must reject.
  options.disabled_passes.insert("recompute-in-consumers");
  return options;
}

class RowChainTest : public testing::TestWithParam<RowProgram> {
 protected:
  void Check(const CompileOptions& options, const std::vector<HostTensor>& inputs) {
    ExpectNaiveLaunches(GetParam().program, options, inputs, GetParam().launches, 1e-2);
  }
};

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorOnACpuPlan) {
  Check(ForCpu(), RandomInputs(GetParam().program, 1));
}

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorWithWideIndicesAndShortVectors) {
  CompileOptions options = ForCpu();
  options.force_64bit_indices = true;
  options.settings.vector_width = 4;
  Check(options, RandomInputs(GetParam().program, 2));
}

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorOnAGpuPlan) {
  Check(ForGpu(64), RandomInputs(GetParam().program, 3));
}

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorOnAGpuPlanOfFewWorkItems) {
  Check(ForGpu(2), RandomInputs(GetParam().program, 4));
}

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorOnAGpuPlanWithoutRegistersForRows) {
  Check(ForGpu(64, 0), RandomInputs(GetParam().program, 5));
}

TEST_P(RowChainTest, EqualsTheNaiveEvaluatorOnAGpuPlanWithFewRegisters) {
  Check(ForGpu(32, 32 * 1024), RandomInputs(GetParam().program, 6));
}

INSTANTIATE_TEST_SUITE_P(All, RowChainTest, testing::ValuesIn(RowPrograms()),
                         [](const auto& info) { return info.param.program.name; });

int LaunchCount(const TestProgram& program, const CompileOptions& options) {
  const auto list = Compile(BindTestProgram(program), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? static_cast<int>(list->steps.size()) : -1;
}

TEST(RowChains, AreOneLaunchWhereRowsAreManyAndLong) {
  EXPECT_EQ(LaunchCount(SoftmaxOf(4096, 4096), ForCpu()), 1);
  EXPECT_EQ(LaunchCount(LayerNormalizationOf(16384, 1024), ForCpu()), 1);
  EXPECT_EQ(LaunchCount(SoftmaxOf(4096, 4096), ForGpu(256)), 1);
  EXPECT_EQ(LaunchCount(LayerNormalizationOf(16384, 1024), ForGpu(256)), 1);
}

TEST(RowChains, AreNotMadeWhereRowsDoNotEmployTheCores) {
  CompileOptions options = ForCpu();
  options.settings.compute_units = 8;
  EXPECT_EQ(LaunchCount(SoftmaxOf(8, 100000), options), 1);
  EXPECT_GT(LaunchCount(SoftmaxOf(4, 100000), options), 1);
  EXPECT_EQ(LaunchCount(SoftmaxOf(4, 1000), options), 1);
}

TEST(RowChains, AreNotMadeOfRowsThatNoCacheHolds) {
  EXPECT_GT(LaunchCount(SoftmaxOf(64, 1 << 20), ForCpu()), 1);
}

TEST(RowChains, GiveAWorkItemSeveralBlocksOfRowsWhereTheyAreShort) {
  const TestProgram test = LayerNormalizationOf(1023, 9);
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 3);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto list = Compile(program, ForCpu());
  ASSERT_TRUE(expected.ok() && list.ok());
  ASSERT_EQ(list->kernels.size(), 1u);
  EXPECT_LT(list->kernels[0].global_size[0], 64);
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
}

int CountInFirstKernel(const TestProgram& program, const std::string& what) {
  const auto list = Compile(BindTestProgram(program), ForCpu());
  EXPECT_TRUE(list.ok() && list->kernels.size() == 1) << list.status();
  if (!list.ok() || list->kernels.empty()) return -1;
  const std::string text = loop::ToString(list->kernels[0]);
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(RowChains, SumWhatTheyComputeInTheSameLoop) {
  // One loop for the maximum, two nested loops for exponentials and their sum in K chunks, and one
  // loop for the quotients.
  EXPECT_EQ(CountInFirstKernel(SoftmaxOf(512, 1024), "for at"), 4);
  EXPECT_EQ(CountInFirstKernel(SoftmaxOf(512, 1024), "for s"), 0);
  // Elements that do not fill a vector are reduced in separate loops.
  EXPECT_EQ(CountInFirstKernel(SoftmaxOf(512, 1027), "for at"), 4);
  EXPECT_EQ(CountInFirstKernel(SoftmaxOf(512, 1027), "for s"), 2);
}

TEST(RowChains, FetchTheNextRowAheadWhereCachesDoNotHoldTheTensors) {
  EXPECT_GT(CountInFirstKernel(SoftmaxOf(512, 1024), "prefetch in0["), 0);
  EXPECT_EQ(CountInFirstKernel(SoftmaxOf(32, 512), "prefetch"), 0);
}

// The gradient of softmax with respect to its input, where two stages need the softmax.
TEST(RowChains, DivideOncePerElement) {
  const TestProgram gradient = {
      "gradient",
      "function (X[M, N], G[M, N]) -> (D) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
      "S[m, 0 : M, 1] = +(E[m, n]); Y = E / S; P = Y * G; T[m, 0 : M, 1] = +(P[m, n]); "
      "D = Y * (G - T); }",
      {{DataType::kFloat32, {512, 1024}}, {DataType::kFloat32, {512, 1024}}}};
  // The text appears once in a loop of two vectors per step, and once in a loop of four.
  EXPECT_EQ(CountInFirstKernel(gradient, "exp("), 2);
  EXPECT_EQ(CountInFirstKernel(gradient, " / "), 4);
  // Both inputs' next rows are prefetched after the first loop, which waits for memory.
  EXPECT_GT(CountInFirstKernel(gradient, "prefetch in0["), 0);
  EXPECT_GT(CountInFirstKernel(gradient, "prefetch in1["), 0);
}

// Adjacent channels with one statistic each: row fusion would prevent vectorization. Contiguous
// rows are fused.
TEST(RowChains, GiveWayWhereRowsLieSideBySide) {
  const auto normalization = [](int64_t points, int64_t channels) {
    return TestProgram{"normalization",
                       "function (X[N, C]) -> (Y) { S[c : C] = +(X[n, c]); M = S / 10; "
                       "D = X - M; V[c : C] = +(D[n, c] * D[n, c]); "
                       "Y = D / sqrt(V + 1); }",
                       {{DataType::kFloat32, {points, channels}}}};
  };
  EXPECT_GT(LaunchCount(normalization(50000, 32), ForCpu()), 2);
  const TestProgram small = normalization(1003, 20);
  const ir::Program program = BindTestProgram(small);
  const std::vector<HostTensor> inputs = RandomInputs(small, 1);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto list = Compile(program, ForCpu());
  ASSERT_TRUE(expected.ok() && list.ok());
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
}

TEST(RowChains, CanBeForbidden) {
  CompileOptions options = ForCpu();
  options.disabled_passes = {"fuse-rows"};
  EXPECT_EQ(LaunchCount(SoftmaxOf(64, 128), options), 3);
}

TEST(RowChains, KeepNotANumberAndInfinityWithinTheirRows) {
  const TestProgram test = SoftmaxOf(5, 37);
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(5 * 37);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 11) * 0.25f;
  values[37 + 4] = std::nanf("");
  values[2 * 37 + 36] = -infinity;
  values[3 * 37] = infinity;
  const std::vector<HostTensor> inputs = {HostTensor::FromVector(test.inputs[0], values)};
  const ir::Program program = BindTestProgram(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto list = Compile(program, ForCpu());
  ASSERT_TRUE(expected.ok() && list.ok());
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
  EXPECT_TRUE(std::isnan((*actual)[0].GetDouble(37)));
  EXPECT_FALSE(std::isnan((*actual)[0].GetDouble(0)));
  EXPECT_EQ((*actual)[0].GetDouble(2 * 37 + 36), 0);
}

// Eight averages depend on one sum, and their successors on another one. They exceed the limit of
// one fused kernel, and two fused kernels must not wait for each other.
TEST(RowChains, DoNotWaitForEachOther) {
  TestProgram program{"averages", "", {{DataType::kFloat32, {12}}, {DataType::kFloat32, {7}}}};
  std::string inputs = "G[N], L[M]";
  std::string outputs;
  std::string statements = "Q = G * G; A[] = +(Q[i]); F = 1 / (1 + A); B[] = +(L[j]); C = B > 0;\n";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    inputs += ", S" + n + "[N]";
    outputs += (i > 0 ? ", K" : "K") + n + ", P" + n;
    statements += "N" + n + " = 0.9 * S" + n + " + G * F; K" + n + " = C ? N" + n + " : S" + n +
                  "; P" + n + " = C ? sqrt(N" + n + " * N" + n + ") : S" + n + ";\n";
    program.inputs.push_back({DataType::kFloat32, {12}});
  }
  program.code = "function (" + inputs + ") -> (" + outputs + ") {\n" + statements + "}";
  for (const CompileOptions& options : {ForCpu(), ForGpu(4), ForGpu(64)}) {
    const ir::Program bound = BindTestProgram(program);
    const std::vector<HostTensor> values = RandomInputs(program, 3);
    const auto expected = ir::EvaluateNaively(bound, values);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto list = Compile(bound, options);
    ASSERT_TRUE(list.ok()) << list.status();
    const auto actual = InterpretList(*list, values);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < actual->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << "output " << o;
    }
  }
}

TEST(RowChains, NeedNoKernelWithoutElements) {
  EXPECT_EQ(LaunchCount(SoftmaxOf(0, 16), ForCpu()), 0);
}

TEST(RowChains, HoldRowsOfTheirOwnInNoBuffer) {
  const auto list = Compile(BindTestProgram(SoftmaxOf(64, 128)), ForCpu());
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(std::get<LaunchStep>(list->steps[0]).buffers.size(), 2u);
}

}  // namespace
}  // namespace tartan::compiler::row_chains_test
