// SPDX-License-Identifier: Apache-2.0
// Tests online softmax over blocks of keys on the available OpenCL device, against the naive
// evaluator and against float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

using Case = AttentionCase;

// Returns whether a row of scores exceeds local memory.
bool IsLong(const Case& c) { return c.keys >= 1000; }

std::vector<Case> Cases() {
  return {{"FiveKeys", 2, 1, 3, 5, 32},
          {"KeysOfABlock", 2, 1, 6, 64, 64},
          {"ThousandKeys", 2, 1, 4, 1000, 64},
          {"OddKeys", 2, 1, 3, 4099, 32},
          {"OddKeysAndRows", 3, 1, 7, 1001, 80},
          {"LargeHeads", 2, 1, 2, 1000, 128},
          {"Masked", 2, 1, 5, 1000, 32, "P * 0.125 + B"},
          {"Causal", 2, 1, 9, 1030, 32, kCausalLogits},
          {"CausalFewKeys", 2, 1, 9, 64, 32, kCausalLogits},
          {"FourHeadsForAKey", 2, 4, 3, 1100, 64},
          {"FourHeadsForAKeyCausal", 2, 4, 2, 4099, 32, kCausalLogits},
          {"Halves", 2, 1, 3, 1000, 64, "P * 0.125", DataType::kFloat16},
          {"HalvesFourHeadsForAKey", 2, 4, 2, 1001, 32, "P * 0.125 + B", DataType::kFloat16}};
}

compiler::CompileOptions OptionsFor(const Case& c) {
  compiler::CompileOptions options;
  options.settings = AttentionSettings();
  options.memory_budget = 1;  // forbids scores in memory, even if they are faster
  options.settings.launch_us = 1000;
  if (IsLong(c)) options.settings.local_memory_bytes = std::min<int64_t>(4 * c.keys - 64, 8192);
  return options;
}

bool Walks(const compiler::KernelList& list) {
  const auto* launch = std::get_if<compiler::LaunchStep>(&list.steps[0]);
  return list.steps.size() == 1 && launch != nullptr &&
         absl::StrContains(launch->plan, "each row in blocks of");
}

// Returns the device's result; fails the test if long rows do not use online softmax.
HostTensor RunOnDevice(const Case& c, const std::vector<HostTensor>& inputs) {
  const compiler::CompileOptions options = OptionsFor(c);
  compiler::CompileHooks hooks;
  hooks.describes_launches = true;
  const auto list = compiler::Compile(BindTestProgram(ProgramOf(c)), options, hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(Walks(*list), IsLong(c));
  return ListRunner(*list, *TestDevice(), Runs::kOneByOne, options.settings).Run(inputs);
}

class OnlineRowsDeviceTest : public testing::TestWithParam<Case> {};

TEST_P(OnlineRowsDeviceTest, EqualTheNaiveEvaluator) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const TestProgram program = ProgramOf(GetParam());
  const std::vector<HostTensor> inputs = RandomInputs(program, 7);
  const auto expected = ir::EvaluateNaively(BindTestProgram(program), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const double tolerance = GetParam().type == DataType::kFloat16 ? 2e-3 : 1e-5;
  EXPECT_EQ(FirstDifference(RunOnDevice(GetParam(), inputs), (*expected)[0], tolerance), "");
}

INSTANTIATE_TEST_SUITE_P(All, OnlineRowsDeviceTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// Computes one output element of attention from its definition in float64.
double InFloat64(const Case& c, const std::vector<HostTensor>& inputs, int64_t row,
                 int64_t column) {
  const int64_t group = row / (c.heads * c.queries);
  double greatest = -INFINITY;
  std::vector<double> scores(c.keys, 0);
  for (int64_t u = 0; u < c.keys; ++u) {
    const int64_t key = (group * c.keys + u) * c.depth;
    for (int64_t d = 0; d < c.depth; ++d) {
      scores[u] += inputs[0].GetDouble(row * c.depth + d) * inputs[1].GetDouble(key + d);
    }
    scores[u] *= 0.125;
    greatest = std::max(greatest, scores[u]);
  }
  double sum = 0;
  double product = 0;
  for (int64_t u = 0; u < c.keys; ++u) {
    const double weight = std::exp(scores[u] - greatest);
    sum += weight;
    product += weight * inputs[2].GetDouble((group * c.keys + u) * c.depth + column);
  }
  return product / sum;
}

// Rounding errors must not grow with the number of blocks.
TEST(OnlineRowsAccuracy, IsThatOfFloat32) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  for (const int64_t keys : {int64_t{1000}, int64_t{16387}}) {
    const Case c = {"Accuracy", 2, 1, 3, keys, 64};
    const std::vector<HostTensor> inputs = RandomInputs(ProgramOf(c), 9);
    const HostTensor actual = RunOnDevice(c, inputs);
    double most = 0;
    for (int64_t i = 0; i < actual.shape().element_count(); i += 11) {
      const double expected = InFloat64(c, inputs, i / c.depth, i % c.depth);
      most = std::max(most, std::abs(actual.GetDouble(i) - expected));
    }
    // Values are between -2 and 2.
    EXPECT_LT(most, 2e-6) << keys;
    RecordProperty(absl::StrCat("error_", keys), absl::StrCat(most));
  }
}

// Options that allow scores in memory if they are faster and fit `budget`.
compiler::CompileOptions ForLargeGpu(int64_t budget = 0) {
  compiler::CompileOptions options;
  options.settings = LargeGpuSettings();
  options.memory_budget = budget;
  return options;
}

// The scores of 4096 queries and 4096 keys would take 805 MB; online softmax stores none of them.
TEST(OnlineRowsMemory, IsThatOfOperandsAndResults) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const Case c = {"Memory", 12, 1, 4096, 4096, 64};
  hal::DeviceInfo info = TestDevice()->info();
  info.max_allocation_bytes = 1 << 28;
  compiler::CompileOptions options = ForLargeGpu(/*budget=*/1);
  const auto walked = CompiledProgram::Plan(ToProto(ProgramOf(c)), info, options);
  ASSERT_TRUE(walked.ok()) << walked.status();
  const int64_t operands = int64_t{4} * 12 * 4096 * 64 * 4 + 4096 * 4096 * 4;
  // Devices that cannot overlap parts of buffers need some extra room.
  EXPECT_LT((*walked)->frame().plan.total_bytes(), operands + operands / 8);
  options.disabled_passes.insert("fuse-attention");
  info.max_allocation_bytes = int64_t{1} << 34;
  const auto apart = CompiledProgram::Plan(ToProto(ProgramOf(c)), info, options);
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_GE((*apart)->frame().plan.total_bytes(), operands + int64_t{12} * 4096 * 4096 * 4);
}

}  // namespace
}  // namespace tartan::evaluator
