// SPDX-License-Identifier: Apache-2.0
// Tests fused attention: which matmuls share a launch with the softmax, and that the results agree
// with the naive evaluator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::product_chains_test {
namespace {

CompileOptions ForGpu(int64_t threads = 64) {
  CompileOptions options;
  options.settings = AttentionSettings();
  options.settings.threads = options.settings.max_work_group_size = threads;
  return options;
}

std::vector<HostTensor> WithSpecialValues(std::vector<HostTensor> inputs) {
  const TensorShape shape = inputs[0].shape();
  std::vector<float> values(shape.element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(inputs[0].GetDouble(static_cast<int64_t>(i)));
  }
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[values.size() / 2] = std::numeric_limits<float>::infinity();
  values[values.size() - 1] = -std::numeric_limits<float>::infinity();
  inputs[0] = HostTensor::FromVector(shape, values);
  return inputs;
}

class ProductChainTest : public testing::TestWithParam<AttentionProgram> {
 protected:
  void Check(const CompileOptions& options, const std::vector<HostTensor>& inputs) {
    ExpectNaiveLaunches(GetParam().program, options, inputs, GetParam().launches, 2e-3);
  }
};

TEST_P(ProductChainTest, EqualsTheNaiveEvaluator) {
  Check(ForGpu(), RandomInputs(GetParam().program, 1));
}

TEST_P(ProductChainTest, EqualsTheNaiveEvaluatorWithFewWorkItems) {
  Check(ForGpu(32), RandomInputs(GetParam().program, 2));
}

TEST_P(ProductChainTest, EqualsTheNaiveEvaluatorWithWideIndicesAndManyWorkItems) {
  CompileOptions options = ForGpu(256);
  options.force_64bit_indices = true;
  Check(options, RandomInputs(GetParam().program, 3));
}

TEST_P(ProductChainTest, EqualsTheNaiveEvaluatorWhereManyUnitsWantManyGroups) {
  CompileOptions options = ForGpu(128);
  options.settings.compute_units = 132;
  Check(options, RandomInputs(GetParam().program, 4));
}

using ProductChainOfFloatsTest = ProductChainTest;

TEST_P(ProductChainOfFloatsTest, EqualsTheNaiveEvaluatorOnNumbersThatAreNone) {
  Check(ForGpu(), WithSpecialValues(RandomInputs(GetParam().program, 5)));
}

INSTANTIATE_TEST_SUITE_P(All, ProductChainTest, testing::ValuesIn(AttentionPrograms()),
                         [](const auto& info) { return info.param.program.name; });

std::vector<AttentionProgram> ProgramsOfFloats() {
  std::vector<AttentionProgram> programs;
  for (const AttentionProgram& program : AttentionPrograms()) {
    if (program.program.inputs[0].type == DataType::kFloat32) programs.push_back(program);
  }
  return programs;
}

INSTANTIATE_TEST_SUITE_P(All, ProductChainOfFloatsTest, testing::ValuesIn(ProgramsOfFloats()),
                         [](const auto& info) { return info.param.program.name; });

std::string AttentionOf(const std::string& values = "V[h, u, d]") {
  return "function (Q[H, T, D], K[H, U, D], V) -> (O) { "
         "P[h, t, u : H, T, U] = +(Q[h, t, d] * K[h, u, d]); M[h, t, 0 : H, T, 1] = >(P[h, t, u]); "
         "E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); W = E / S; "
         "O[h, t, d : H, T, D] = +(W[h, t, u] * " +
         values + "); }";
}

// Compile options for a GPU with 132 compute units.
CompileOptions ForLargeGpu() {
  CompileOptions options = ForGpu(256);
  options.settings.local_memory_bytes = 48 << 10;
  options.settings.max_work_group_size = 1024;
  options.settings.compute_units = 132;
  options.settings.clock_mhz = 1980;
  options.settings.gbps = 3000;
  options.settings.launch_us = 3;
  return options;
}

int LaunchCount(const TestProgram& program, const CompileOptions& options) {
  const auto list = Compile(BindTestProgram(program), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? static_cast<int>(list->steps.size()) : -1;
}

TEST(AttentionFusion, AreLeftOutByName) {
  CompileOptions options = ForGpu();
  const TestProgram& attention = AttentionPrograms()[0].program;
  EXPECT_EQ(LaunchCount(attention, options), 1);
  options.disabled_passes.insert("fuse-attention");
  EXPECT_EQ(LaunchCount(attention, options), 3);
}

TEST(AttentionFusion, AreNotMadeOnCpus) {
  CompileOptions options;
  options.settings.compute_units = 2;
  EXPECT_EQ(LaunchCount(AttentionPrograms()[0].program, options), 3);
}

TEST(AttentionFusion, AreOneLaunchInTheSizesOfModels) {
  const auto attention = [](int64_t heads, int64_t queries, int64_t keys) {
    return TestProgram{"",
                       AttentionOf(),
                       {F32({heads, queries, 64}), F32({heads, keys, 64}), F32({heads, keys, 64})}};
  };
  EXPECT_EQ(LaunchCount(attention(12, 128, 128), ForLargeGpu()), 1);
  EXPECT_EQ(LaunchCount(attention(12, 197, 197), ForLargeGpu()), 1);
  EXPECT_EQ(LaunchCount(attention(9, 64, 64), ForLargeGpu()), 1);
  EXPECT_EQ(LaunchCount(attention(12, 1, 129), ForLargeGpu()), 1);
}

// One head is a large matmul rather than a batch. With few heads and one query, too few work-groups
// would loop over many keys.
TEST(AttentionFusion, AreNotMadeWhereLaunchesOfTheirOwnAreQuicker) {
  const auto attention = [](int64_t heads, int64_t queries, int64_t keys) {
    return TestProgram{"",
                       AttentionOf(),
                       {F32({heads, queries, 64}), F32({heads, keys, 64}), F32({heads, keys, 64})}};
  };
  // The second matmul is a sum in chunks and the sum of the chunks.
  EXPECT_EQ(LaunchCount(attention(1, 16384, 16384), ForLargeGpu()), 4);
  EXPECT_GT(LaunchCount(attention(12, 1, 16384), ForLargeGpu()), 1);
}

// A matmul whose weights are the same for all rows needs large tiles.
TEST(AttentionFusion, HaveNoProductsWithWeights) {
  const TestProgram weights = {
      "", AttentionOf("V[u, d]"), {F32({4, 16, 8}), F32({4, 24, 8}), F32({24, 8})}};
  EXPECT_EQ(LaunchCount(weights, ForGpu()), 2);
}

// Activations vary along the batch, and weights along the heads: no row axis is common to both.
TEST(AttentionFusion, HaveNoProjectionsByHead) {
  const TestProgram projected = {
      "",
      "function (X[B, T, C], WQ[C, H, D], K[B, H, U, D], V[B, H, U, D]) -> (O) { "
      "Q[b, h, t, d : B, H, T, D] = +(X[b, t, c] * WQ[c, h, d]); "
      "P[b, h, t, u : B, H, T, U] = +(Q[b, h, t, d] * K[b, h, u, d]); "
      "M[b, h, t, 0 : B, H, T, 1] = >(P[b, h, t, u]); E = exp(P - M); "
      "S[b, h, t, 0 : B, H, T, 1] = +(E[b, h, t, u]); W = E / S; "
      "O[b, h, t, d : B, H, T, D] = +(W[b, h, t, u] * V[b, h, u, d]); }",
      {F32({2, 16, 24}), F32({24, 3, 8}), F32({2, 3, 20, 8}), F32({2, 3, 20, 8})}};
  const auto list = Compile(BindTestProgram(projected), ForGpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 2u);
  ExpectNaiveResults(projected, *list);
}

// Scores or weights with another reader are stored in memory, too.
TEST(AttentionFusion, StoreWhatOthersRead) {
  const TestProgram attention = {
      "",
      "function (Q[H, T, D], K[H, U, D], V[H, U, D]) -> (O, R) { "
      "P[h, t, u : H, T, U] = +(Q[h, t, d] * K[h, u, d]); M[h, t, 0 : H, T, 1] = >(P[h, t, u]); "
      "E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); W = E / S; "
      "O[h, t, d : H, T, D] = +(W[h, t, u] * V[h, u, d]); "
      "R[h, u, d : H, U, D] = +(W[h, t, u] * Q[h, t, d]); }",
      {F32({2, 10, 8}), F32({2, 14, 8}), F32({2, 14, 8})}};
  const auto list = Compile(BindTestProgram(attention), ForGpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 2u);
  ExpectNaiveResults(attention, *list);
}

int KeptArrays(const std::string& program) {
  for (const AttentionProgram& attention : AttentionPrograms()) {
    if (attention.program.name != program) continue;
    const auto list = Compile(BindTestProgram(attention.program), ForGpu());
    EXPECT_TRUE(list.ok()) << list.status();
    const std::string text = loop::ToString(list->kernels[0]);
    int count = 0;
    for (size_t at = 0; (at = text.find("local kept", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  return -1;
}

// The weights overwrite the scores in local memory, and so do result rows with at most as many
// columns.
TEST(AttentionFusion, KeepWhatIsDoneWithInNoArray) {
  EXPECT_EQ(KeptArrays("Whole"), 1);
  EXPECT_EQ(KeptArrays("Capped"), 1);
  EXPECT_EQ(KeptArrays("HeadsLast"), 2);
}

TEST(AttentionFusion, OfOneQueryMayBeInSequences) {
  CompileOptions options = ForLargeGpu();
  options.settings.batches_launches = true;
  // A second short launch makes a launch batch worthwhile.
  TestProgram program = {
      "", AttentionOf(), {F32({12, 1, 64}), F32({12, 129, 64}), F32({12, 129, 64})}};
  program.code.replace(program.code.find("-> (O)"), 6, "-> (R)");
  program.code.insert(program.code.rfind('}'), "R[d, h, t : D, H, T] = =(O[h, t, d]); ");
  const auto list = Compile(BindTestProgram(program), options);
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->steps.size(), 2u);
  EXPECT_TRUE(list->kernels[std::get<LaunchStep>(list->steps[0]).kernel].in_launch_batch);
}

}  // namespace
}  // namespace tartan::compiler::product_chains_test
