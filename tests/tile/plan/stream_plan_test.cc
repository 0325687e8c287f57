// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/stream_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan::stream_test {
namespace {

// A device with a second cache too small to hold any matrix.
HardwareSettings Settings() {
  HardwareSettings settings;
  settings.l2_bytes = 1024;
  settings.compute_units = 2;
  return settings;
}

// Returns the last kernel of a program that has a stream plan.
std::optional<PlannedKernel> PlannedStream(const ir::Program& program,
                                           const HardwareSettings& settings) {
  std::optional<PlannedKernel> found;
  compiler::CompileOptions options;
  options.settings = settings;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    if (auto plan = StreamPlan(poly::MergeIndices(flat), settings, launch)) found = *plan;
    return PlanKernel(flat, settings, launch);
  };
  EXPECT_TRUE(compiler::Compile(program, options, hooks).ok());
  return found;
}

std::optional<CpuPlan> StreamPlanOf(const TestProgram& program,
                                    const HardwareSettings& settings = Settings()) {
  const std::optional<PlannedKernel> planned = PlannedStream(BindTestProgram(program), settings);
  return planned ? std::optional(std::get<CpuPlan>(planned->plan)) : std::nullopt;
}

const char kProduct[] =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
const char kTransposed[] =
    "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }";
const char kBatched[] =
    "function (A[G, M, L], B[G, L, N]) -> (C) "
    "{ C[g, i, j : G, M, N] = +(A[g, i, k] * B[g, k, j]); }";
const char kEpilogue[] =
    "function (A[M, L], B[L, N], D[N]) -> (E) "
    "{ C[i, j : M, N] = +(A[i, k] * B[k, j]); S = C + D; E = S * tanh(S); }";

TEST(StreamPlan, WalksSeveralRowsOfTheMatrixAlongAllResults) {
  const auto plan = StreamPlanOf({"product", kProduct, {F32({1, 100}), F32({100, 1200})}});
  ASSERT_TRUE(plan.has_value());
  ASSERT_TRUE(plan->block.has_value());
  EXPECT_EQ(plan->block->chunk_length, 16);
  EXPECT_EQ(plan->task[plan->vector_index],
            608);  // half of the columns for each core, rounded to tiles
}

TEST(StreamPlan, SumsUpSeveralRowsOfATransposedMatrix) {
  const auto plan = StreamPlanOf({"product", kTransposed, {F32({1, 128}), F32({100, 128})}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->block.has_value());
  EXPECT_EQ(plan->vector_index, 1);
  EXPECT_EQ(plan->unroll[0], 8);
}

TEST(StreamPlan, ReadsTheMatrixOnceForUpTo16Rows) {
  const auto along_results = StreamPlanOf({"product", kProduct, {F32({4, 100}), F32({100, 512})}});
  ASSERT_TRUE(along_results.has_value());
  EXPECT_EQ(along_results->unroll[0], 4);
  const auto along_sum = StreamPlanOf({"product", kTransposed, {F32({4, 128}), F32({100, 128})}});
  ASSERT_TRUE(along_sum.has_value());
  EXPECT_EQ(along_sum->unroll[0], 4);
  EXPECT_TRUE(StreamPlanOf({"product", kProduct, {F32({16, 100}), F32({100, 512})}}).has_value());
  EXPECT_FALSE(StreamPlanOf({"product", kProduct, {F32({17, 100}), F32({100, 512})}}).has_value());
}

TEST(StreamPlan, IsNotForWhatACacheHolds) {
  HardwareSettings settings = Settings();
  settings.l2_bytes = 100 * 512 * 4;
  const TestProgram product = {"product", kProduct, {F32({1, 100}), F32({100, 512})}};
  EXPECT_FALSE(StreamPlanOf(product, settings).has_value());
  settings.l2_bytes -= 1;
  EXPECT_TRUE(StreamPlanOf(product, settings).has_value());
}

TEST(StreamPlan, IsNotForRowsThatVectorsDoNotDivide) {
  EXPECT_FALSE(
      StreamPlanOf({"product", kTransposed, {F32({1, 129}), F32({100, 129})}}).has_value());
}

// Weights of 4 bits, the low half of each byte first, in blocks of eight bytes with a scale and a
// zero point. The results are stored in groups of 64.
const char kNibbles[] =
    "function (A[M, K], Q[T, B, L, C], S[T, B, C], Z[T, B, C], PARTS[P]) -> (O) {"
    " EACH = (as_int(reshape(Q, T, B, L, 1, C), 32) >> (reshape(index(PARTS, 0), P, 1) * 4)) & 15;"
    " W = as_float(EACH - as_int(reshape(Z, T, B, 1, 1, C), 32), 32) * reshape(S, T, B, 1, 1, C);"
    " O[i, t, c : M, T, C] = +(A[i, 16 * b + 2 * l + p] * W[t, b, l, p, c]); }";

TestProgram Nibbles(int64_t rows, int64_t width) {
  const TensorShape blocks = {DataType::kUInt8, {7, 12, width}};
  return {absl::StrCat("Nibbles", rows, "x", width),
          kNibbles,
          {F32({rows, 192}),
           {DataType::kUInt8, {7, 12, 8, width}},
           F32({7, 12, width}),
           blocks,
           {DataType::kInt32, {2}}},
          0,
          200};
}

// Signed 4-bit weights, eight in each 32-bit word.
const char kWords[] =
    "function (A[M, K], Q[T, B, L, C], S[T, B, C], Z[T, B, C], PARTS[P]) -> (O) {"
    " PLACED = reshape(Q, T, B, L, 1, C) >> (reshape(index(PARTS, 0), P, 1) * 4);"
    " EACH = as_float((PLACED << 28) >> 28, 32) - as_float(reshape(Z, T, B, 1, 1, C), 32);"
    " W = EACH * reshape(S, T, B, 1, 1, C);"
    " O[i, t, c : M, T, C] = +(A[i, 32 * b + 8 * l + p] * W[t, b, l, p, c]); }";

TestProgram Words(int64_t rows, int64_t width) {
  return {absl::StrCat("Words", rows, "x", width),
          kWords,
          {F32({rows, 192}),
           {DataType::kInt32, {7, 6, 4, width}},
           F32({7, 6, width}),
           {DataType::kUInt8, {7, 6, width}},
           {DataType::kInt32, {8}}},
          0,
          2e9};
}

// Binds the weights as constants, which the kernel decodes.
ir::Program BindWithWeights(const TestProgram& test) {
  ir::Program program = BindTestProgram(test);
  for (size_t i = 1; i < program.inputs.size(); ++i) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  return program;
}

class NibbleKernels : public testing::TestWithParam<TestProgram> {};

TEST_P(NibbleKernels, DecodeWeightsAndScaleTheirSumsAsTheNaiveEvaluatorDoes) {
  const ir::Program program = BindWithWeights(GetParam());
  compiler::CompileOptions options;
  options.settings = Settings();
  std::optional<CpuPlan> found;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    if (auto planned = StreamPlan(poly::MergeIndices(flat), options.settings, launch)) {
      found = std::get<CpuPlan>(planned->plan);
      return *planned;
    }
    return PlanKernel(flat, options.settings, launch);
  };
  const auto list = compiler::Compile(program, options, hooks);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->kernels.size(), 1);  // no float weights are stored in memory
  ASSERT_TRUE(found.has_value());
  // Unrolls over the values of a byte or word.
  EXPECT_EQ(found->unroll[found->reduction_order.back()], GetParam().inputs.back().dims.front());
  const std::vector<HostTensor> inputs = RandomInputs(GetParam(), 3);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
}

INSTANTIATE_TEST_SUITE_P(All, NibbleKernels,
                         testing::Values(Nibbles(1, 64), Nibbles(5, 64), Nibbles(16, 64),
                                         Nibbles(1, 520), Words(1, 64), Words(3, 64), Words(8, 64),
                                         Words(16, 64), Words(2, 48), Words(1, 520)),
                         [](const auto& info) { return info.param.name; });

// DequantizeLinear's form: weights in blocks, whose dimensions are then merged by a reshape.
const char kReshapedBlocks[] =
    "function (A[M, K], Q[B, L, N], S[B, N]) -> (C) {"
    " R = as_float(Q, 32) * reshape(S, B, 1, N); W = reshape(R, K, N);"
    " C[i, j : M, N] = +(A[i, k] * W[k, j]); }";

TEST(BlockReads, ReadWeightsInTheBlocksThatTheyWereReshapedFrom) {
  const TestProgram test = {"blocks",
                            kReshapedBlocks,
                            {F32({2, 256}), {DataType::kInt8, {8, 32, 300}}, F32({8, 300})},
                            -2,
                            2};
  const ir::Program program = BindWithWeights(test);
  compiler::CompileOptions options;
  options.settings = Settings();
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->kernels.size(), 1);
  const std::vector<HostTensor> inputs = RandomInputs(test, 4);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
  // Without the pass, the weights are decoded at load.
  options.disabled_passes = {"block-reads"};
  const auto without = compiler::Compile(program, options);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->kernels.size(), 2);
}

// Puts a NaN and an infinity into the second input, which is a constant if `program` says so.
void ExpectNaiveResults(const TestProgram& test, const ir::Program& program,
                        const HardwareSettings& settings) {
  std::vector<HostTensor> inputs = RandomInputs(test, 1);
  std::vector<uint8_t> bytes(inputs[1].bytes().begin(), inputs[1].bytes().end());
  StoreElement(DataType::kFloat32, std::nan(""), 700, bytes.data());
  StoreElement(DataType::kFloat32, -INFINITY, 1500, bytes.data());
  inputs[1] = HostTensor(inputs[1].shape(), bytes);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = settings;
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
}

class StreamKernels : public testing::TestWithParam<TestProgram> {};

TEST_P(StreamKernels, ComputeWhatTheNaiveEvaluatorDoes) {
  ASSERT_TRUE(StreamPlanOf(GetParam()).has_value());
  ExpectNaiveResults(GetParam(), BindTestProgram(GetParam()), Settings());
}

HardwareSettings OneStream() {
  HardwareSettings settings = Settings();
  settings.prefers_one_stream = true;
  return settings;
}

TEST_P(StreamKernels, ReadAConstantAsOneStreamWhereThatIsQuicker) {
  const ir::Program program = BindWithWeights(GetParam());
  const std::optional<PlannedKernel> planned = PlannedStream(program, OneStream());
  ASSERT_TRUE(planned.has_value());
  const auto& plan = std::get<CpuPlan>(planned->plan);
  EXPECT_FALSE(plan.block.has_value());
  const bool is_transposed = GetParam().code == kTransposed;
  EXPECT_EQ(planned->packed.size(), is_transposed ? 0u : 1u);
  if (is_transposed && GetParam().inputs[0].dims[0] == 1) {
    EXPECT_EQ(plan.unroll[0], 1);
  }
  ExpectNaiveResults(GetParam(), program, OneStream());
}

// A second cache that holds every program's data, and a first cache that holds no matrix.
HardwareSettings OneStreamFromCache() {
  HardwareSettings settings = OneStream();
  settings.l1_bytes = 1024;
  settings.l2_bytes = 1 << 21;
  return settings;
}

TEST_P(StreamKernels, ReadAConstantInTheSecondCacheAsOneStream) {
  const ir::Program program = BindWithWeights(GetParam());
  const std::optional<PlannedKernel> planned = PlannedStream(program, OneStreamFromCache());
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(planned->packed.size(), 1u);
  EXPECT_FALSE(std::get<CpuPlan>(planned->plan).block.has_value());
  ExpectNaiveResults(GetParam(), program, OneStreamFromCache());
}

TEST(StreamPlan, PacksASmallMatrixWhereTheProgramStaysInTheSecondCache) {
  const TestProgram gates = {"gates", kTransposed, {F32({1, 128}), F32({512, 128})}};
  const auto packed = [&](const HardwareSettings& settings) {
    compiler::CompileOptions options;
    options.settings = settings;
    const auto list = compiler::Compile(BindWithWeights(gates), options);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() && list->kernels.size() == 2;  // one of them packs
  };
  HardwareSettings settings = OneStreamFromCache();
  EXPECT_TRUE(packed(settings));
  settings.l2_bytes = 512 * 128 * 4;
  EXPECT_FALSE(packed(settings));  // more than the share of the cache that a matrix may fill
  settings = OneStreamFromCache();
  settings.prefers_one_stream = false;
  EXPECT_FALSE(packed(settings));
  settings = OneStreamFromCache();
  settings.l1_bytes = 512 * 128 * 4;
  EXPECT_FALSE(packed(settings));
}

// The form of an unrolled recurrence.
TEST(StreamPlan, PacksAMatrixOnceForAllProductsThatReadIt) {
  const TestProgram steps = {"steps",
                             "function (H[M, K], W[K, K]) -> (C) {"
                             " A[i, j : M, K] = +(H[i, k] * W[j, k]);"
                             " B[i, j : M, K] = +(A[i, k] * W[j, k]);"
                             " C[i, j : M, K] = +(B[i, k] * W[j, k]); }",
                             {F32({1, 256}), F32({256, 256})}};
  const ir::Program program = BindWithWeights(steps);
  compiler::CompileOptions options;
  options.settings = OneStreamFromCache();
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->setup.size(), 1u);
  EXPECT_EQ(list->steps.size(), 3u);
  ExpectNaiveResults(steps, program, OneStreamFromCache());
}

// Reading the matrix takes a core longer than computing a single row.
TEST(StreamPlan, DividesAMatrixAmongCoresByTheTimeThatMemoryTakes) {
  const TestProgram square = {"square", kProduct, {F32({1, 512}), F32({512, 512})}};
  HardwareSettings settings = OneStream();
  for (const int64_t cores : {1, 2, 3}) {
    settings.compute_units = cores;
    const auto planned = PlannedStream(BindWithWeights(square), settings);
    ASSERT_TRUE(planned.has_value());
    ASSERT_EQ(planned->packed.size(), 1u);
    const int64_t items = std::get<CpuPlan>(planned->plan).ItemCount(planned->flat);
    EXPECT_GE(items, cores);
  }
}

TEST(StreamPlan, PacksNothingThatIsNoConstant) {
  const auto plan =
      StreamPlanOf({"product", kProduct, {F32({1, 100}), F32({100, 512})}}, OneStream());
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->block.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamKernels,
    testing::Values(TestProgram{"OneRow", kProduct, {F32({1, 77}), F32({77, 601})}},
                    TestProgram{"ThreeRows", kProduct, {F32({3, 80}), F32({80, 515})}},
                    TestProgram{"SixteenRows", kProduct, {F32({16, 50}), F32({50, 259})}},
                    TestProgram{"Epilogue", kEpilogue, {F32({2, 50}), F32({50, 300}), F32({300})}},
                    TestProgram{"Batched", kBatched, {F32({3, 2, 50}), F32({3, 50, 260})}},
                    TestProgram{"Transposed", kTransposed, {F32({1, 192}), F32({301, 192})}},
                    TestProgram{"TransposedFiveRows", kTransposed, {F32({5, 72}), F32({47, 72})}},
                    TestProgram{
                        "TransposedSixteenRows", kTransposed, {F32({16, 96}), F32({49, 96})}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::plan::stream_test
