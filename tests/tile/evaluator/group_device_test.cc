// SPDX-License-Identifier: Apache-2.0
// Runs one GPU kernel of each form on the available OpenCL device, since any device has work-groups
// and local memory. Compares with the naive evaluator. scripts/oclgrind.sh runs this test under
// oclgrind, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/launches/cell_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/compiler/row_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/gpu/async_copies.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::evaluator {
namespace {

HardwareSettings Gpu() { return SmallGpu(); }

struct Form {
  TestProgram program;
  plan::Buffering buffering = plan::Buffering::kNone;
};

std::vector<Form> Forms() {
  const std::string matmul = kMatMul;
  const std::string convolution = kPaddedConvolution;
  return {
      {{"Tiles", matmul, {F32({33, 20}), F32({20, 36})}}},
      {{"PrefetchedTiles", matmul, {F32({33, 80}), F32({80, 36})}}, plan::Buffering::kRegisters},
      {{"Primes", matmul, {F32({17, 13}), F32({13, 19})}}, plan::Buffering::kRegisters},
      {{"PaddedWindows", convolution, {F32({2, 7, 6, 8}), F32({3, 3, 8, 8})}},
       plan::Buffering::kRegisters},
      {{"CopiedTiles", matmul, {F32({33, 80}), F32({80, 36})}}, plan::Buffering::kAsyncCopies},
      {{"CopiedOddSteps", matmul, {F32({37, 140}), F32({140, 44})}}, plan::Buffering::kAsyncCopies},
      {{"CopiedWindows", convolution, {F32({2, 7, 6, 64}), F32({3, 3, 64, 8})}},
       plan::Buffering::kAsyncCopies},
      {{"CheckedEdges",
        "function (A[M, L], B[N]) -> (C) { C[i, j : M, N] = *(A[i + k - 1, j] + B[j]), k < 3; }",
        {F32({9, 8}), F32({8})}}},
      {{"JoinedPartials", "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }", {F32({3, 515})}}},
      {{"Columns", "function (I[M, N]) -> (O) { O[n : N] = >(I[m, n]); }", {F32({130, 12})}}},
      {{"TwoKernels", "function (I[M]) -> (O) { O[] = +(I[m]); }", {F32({9001})}}},
      {{"Elementwise", "function (A, B) -> (O) { O = A * B + 1; }", {F32({5, 12}), F32({12})}}},
      {{"Transposed",
        "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
        {F32({37, 20})}}},
      // Special operations: sorted blocks and merges, updates sorted by target, partial scans.
      {{"Sorted", "function (X) -> (O) { O = argsort(round(X), 1, 1); }", {F32({2, 99})}}},
      {{"Scattered",
        "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
        {F32({70, 3}), {DataType::kInt64, {70}}, F32({20})},
        -25,
        25}},
      {{"RunningSum", "function (X) -> (O) { O = cumsum(X, 1, 0, 1); }", {F32({2, 260})}}},
  };
}

// Each way is a separate test, because oclgrind confuses values of programs in one process.
constexpr Runs kWays[] = {Runs::kOneByOne, Runs::kInSequence};

std::string WayName(const std::string& form, Runs runs) {
  return absl::StrCat(form, runs == Runs::kInSequence ? "InSequence" : "");
}

class GroupDeviceTest : public testing::TestWithParam<std::tuple<Form, Runs>> {};

TEST_P(GroupDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto& [form, runs] = GetParam();
  const TestProgram& test = form.program;
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = Gpu();
  std::string plan;
  compiler::CompileHooks hooks;
  hooks.planner = [&, buffering = form.buffering](const poly::FlatContraction& flat,
                                                  const plan::LaunchContext& launch) {
    constexpr int kCandidates = 24;
    plan::PlannedKernel planned = plan::PlanKernel(flat, Gpu(), launch);
    if (buffering == plan::Buffering::kAsyncCopies) {
      auto others = plan::PlanCandidates(flat, Gpu(), launch, kCandidates);
      const auto copied =
          std::find_if(others.begin(), others.end(), [](const plan::PlannedKernel& other) {
            const auto* groups = std::get_if<plan::GpuPlan>(&other.plan);
            return groups != nullptr && plan::CanCopyAsync(other.flat, *groups);
          });
      EXPECT_NE(copied, others.end());
      if (copied != others.end()) planned = std::move(*copied);
    }
    auto* const groups = std::get_if<plan::GpuPlan>(&planned.plan);
    EXPECT_NE(groups, nullptr);
    if (groups != nullptr) groups->buffering = buffering;
    absl::StrAppend(&plan, plan::ToString(planned.plan, planned.flat), "\n");
    return planned;
  };
  const auto list = compiler::Compile(program, options, hooks);
  ASSERT_TRUE(list.ok()) << list.status();
  const HostTensor actual = ListRunner(*list, *TestDevice(), runs, Gpu()).Run(inputs);
  EXPECT_EQ(FirstDifference(actual, (*expected)[0], 2e-5), "") << plan;
}

INSTANTIATE_TEST_SUITE_P(All, GroupDeviceTest,
                         testing::Combine(testing::ValuesIn(Forms()), testing::ValuesIn(kWays)),
                         [](const auto& info) {
                           return WayName(std::get<0>(info.param).program.name,
                                          std::get<1>(info.param));
                         });

void ExpectNaiveResults(const TestProgram& test, int launches, const HardwareSettings& settings,
                        Runs runs) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = settings;
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(static_cast<int>(list->steps.size()), launches);
  const HostTensor actual = ListRunner(*list, *TestDevice(), runs, settings).Run(inputs);
  EXPECT_EQ(FirstDifference(actual, (*expected)[0], 2e-5), "");
}

class RowGroupDeviceTest : public testing::TestWithParam<std::tuple<RowProgram, Runs>> {};

TEST_P(RowGroupDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  const auto& [form, runs] = GetParam();
  ExpectNaiveResults(form.program, form.launches, Gpu(), runs);
}

// Forms of row fusion: one or several rows per work-group, adjacent rows, stored intermediates.
std::vector<RowProgram> RowForms() {
  std::vector<RowProgram> forms;
  for (const RowProgram& row_program : RowPrograms()) {
    for (const char* name : {"Softmax3x131", "LayerNormalization37x16", "SoftmaxOverChannels",
                             "IntermediateIsAnOutput", "FirstElementwise"}) {
      if (row_program.program.name == name) forms.push_back(row_program);
    }
  }
  return forms;
}

INSTANTIATE_TEST_SUITE_P(All, RowGroupDeviceTest,
                         testing::Combine(testing::ValuesIn(RowForms()), testing::ValuesIn(kWays)),
                         [](const auto& info) {
                           return WayName(std::get<0>(info.param).program.name,
                                          std::get<1>(info.param));
                         });

// Several reductions per output element, both with cooperating work-items and with tiles.
class CellDeviceTest : public testing::TestWithParam<std::tuple<TestProgram, Runs>> {};

TEST_P(CellDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  const auto& [program, runs] = GetParam();
  HardwareSettings settings = Gpu();
  settings.compute_units = 132;
  settings.batches_launches = true;
  ExpectNaiveResults(program, 1, settings, runs);
}

INSTANTIATE_TEST_SUITE_P(All, CellDeviceTest,
                         testing::Combine(testing::Values(LstmCell(1, 64), LstmCell(3, 5),
                                                          LstmCell(17, 32), GruCell(1, 60),
                                                          GruCell(9, 24)),
                                          testing::ValuesIn(kWays)),
                         [](const auto& info) {
                           return WayName(std::get<0>(info.param).name, std::get<1>(info.param));
                         });

class AttentionDeviceTest : public testing::TestWithParam<std::tuple<AttentionProgram, Runs>> {};

TEST_P(AttentionDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  const auto& [form, runs] = GetParam();
  ExpectNaiveResults(form.program, form.launches, AttentionSettings(), runs);
}

std::vector<AttentionProgram> AttentionForms(const std::set<std::string>& names) {
  std::vector<AttentionProgram> forms;
  for (const AttentionProgram& form : AttentionPrograms()) {
    if (names.count(form.program.name) > 0) forms.push_back(form);
  }
  return forms;
}

// Covers blocks that divide the rows or not, one query, masks, interleaved heads and shared keys.
INSTANTIATE_TEST_SUITE_P(All, AttentionDeviceTest,
                         testing::Combine(testing::ValuesIn(AttentionForms(
                                              {"Whole", "OddDepth", "OneQuery", "Causal", "Decode",
                                               "HeadsLast", "SharedKeys", "WeightsAreAnOutput"})),
                                          testing::ValuesIn(kWays)),
                         [](const auto& info) {
                           return WayName(std::get<0>(info.param).program.name,
                                          std::get<1>(info.param));
                         });
// LLVM 15 crashes when it compiles this program for a launch batch.
INSTANTIATE_TEST_SUITE_P(OneByOne, AttentionDeviceTest,
                         testing::Combine(testing::ValuesIn(AttentionForms({"Odd"})),
                                          testing::Values(Runs::kOneByOne)),
                         [](const auto& info) { return std::get<0>(info.param).program.name; });

// Intermediates that stages pass in local memory need no global memory.
TEST(AttentionMemory, IsThatOfOperandsAndResults) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const TestProgram& program = AttentionPrograms()[0].program;
  compiler::CompileOptions options;
  options.settings = AttentionSettings();
  const auto planned = CompiledProgram::Plan(ToProto(program), TestDevice()->info(), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  int64_t bytes = program.inputs[0].byte_size();  // starts with the size of the result
  for (const TensorShape& input : program.inputs) bytes += input.byte_size();
  EXPECT_EQ((*planned)->frame().plan.total_bytes(), bytes);
}

}  // namespace
}  // namespace tartan::evaluator
