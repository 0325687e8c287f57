// SPDX-License-Identifier: Apache-2.0
// Tests fused attention whose matmuls use a matrix unit, on the available OpenCL device, against
// the naive evaluator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

using Case = AttentionCase;

constexpr DataType kFloat = DataType::kFloat32;

std::vector<Case> Cases() {
  return {
      {"OneBlock", 2, 1, 64, 64, 64},
      {"OddKeys", 2, 1, 64, 75, 64},
      {"OddKeysAndRows", 2, 1, 69, 197, 64},
      {"FewKeys", 2, 1, 64, 9, 32},
      {"ManyKeys", 2, 1, 64, 256, 32},
      {"OddDepth", 2, 1, 70, 40, 24},
      {"LargeHeads", 2, 1, 64, 80, 128},
      {"Masked", 2, 1, 66, 128, 64, "P * 0.125 + B"},
      {"MaskedByBools", 2, 1, 66, 128, 64, "B ? P * 0.125 : -1000000.0", kFloat, DataType::kBool},
      {"MaskedByBoolsInPairs", 2, 1, 64, 70, 64, "B ? P * 0.125 : -1000000.0", kFloat,
       DataType::kBool},
      {"Causal", 2, 1, 96, 96, 64, kCausalLogits},
      {"ThreeHeadsForAKey", 2, 3, 64, 72, 32}};
}

compiler::CompileOptions OptionsFor(Precision precision) {
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  options.settings.gbps = 1;     // makes scores in memory slow
  options.settings.threads = 2;  // makes matmuls without the matrix unit slow
  options.precision = precision;
  return options;
}

// Returns the plan of the only launch's kernel.
std::string PlanOf(const compiler::KernelList& list) {
  const auto* launch = std::get_if<compiler::LaunchStep>(&list.steps[0]);
  return list.steps.size() == 1 && launch != nullptr ? launch->plan : "";
}

class MatrixRowsDeviceTest : public testing::TestWithParam<std::tuple<Case, Precision>> {
 protected:
  static HostTensor RunOnDevice(const Case& c, Precision precision,
                                const std::vector<HostTensor>& inputs) {
    compiler::CompileHooks hooks;
    hooks.describes_launches = true;
    const compiler::CompileOptions options = OptionsFor(precision);
    const auto list = compiler::Compile(BindTestProgram(ProgramOf(c)), options, hooks);
    EXPECT_TRUE(list.ok()) << list.status();
    EXPECT_TRUE(absl::StrContains(PlanOf(*list), "each for 2 rows"))
        << PlanOf(*list) << list->steps.size();
    EXPECT_TRUE(absl::StrContains(PlanOf(*list), "left factor in local memory")) << PlanOf(*list);
    return ListRunner(*list, *TestDevice()).Run(inputs);
  }
};

// Results are weighted means of values up to 2. Values and weights are rounded to 8 or 11 bits.
double ToleranceOf(Precision precision) { return precision == Precision::kBFloat16 ? 2e-2 : 3e-3; }

TEST_P(MatrixRowsDeviceTest, EqualsTheNaiveEvaluator) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto& [c, precision] = GetParam();
  const std::vector<HostTensor> inputs = RandomInputs(ProgramOf(c), 7);
  const auto expected = ir::EvaluateNaively(BindTestProgram(ProgramOf(c)), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const HostTensor actual = RunOnDevice(c, precision, inputs);
  double most = 0;
  for (int64_t i = 0; i < actual.shape().element_count(); ++i) {
    const double error = std::abs(actual.GetDouble(i) - (*expected)[0].GetDouble(i));
    most = std::isnan(error) ? INFINITY : std::max(most, error);
  }
  EXPECT_LT(most, ToleranceOf(precision));
  RecordProperty("error", std::to_string(most));
}

// A NaN in one query makes its whole row NaN and leaves the other rows unchanged. Elements after
// the last key, and leftovers of earlier rows, must not enter any sum.
TEST_P(MatrixRowsDeviceTest, KeepsRowsApart) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto& [c, precision] = GetParam();
  std::vector<HostTensor> inputs = RandomInputs(ProgramOf(c), 8);
  const HostTensor without = RunOnDevice(c, precision, inputs);
  const int64_t row = c.queries - 1;
  std::vector<float> queries;
  for (double value : inputs[0].ToDoubles()) queries.push_back(static_cast<float>(value));
  queries[row * c.depth] = std::numeric_limits<float>::quiet_NaN();
  inputs[0] = HostTensor::FromVector(inputs[0].shape(), queries);
  const HostTensor with = RunOnDevice(c, precision, inputs);
  for (int64_t i = 0; i < with.shape().element_count(); ++i) {
    if (i / c.depth == row) {
      ASSERT_TRUE(std::isnan(with.GetDouble(i))) << i;
    } else {
      ASSERT_EQ(with.GetDouble(i), without.GetDouble(i)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixRowsDeviceTest,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::Values(Precision::kTf32, Precision::kBFloat16,
                                                          Precision::kFloat16)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  std::string(Name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace tartan::evaluator
