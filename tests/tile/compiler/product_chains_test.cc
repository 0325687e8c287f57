// SPDX-License-Identifier: Apache-2.0
// Products of matrices in chains over rows: what becomes one launch, and that it computes what the
// naive evaluator does.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/interpret_list.h"
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
    const ir::Program program = BindTestProgram(GetParam().program);
    const auto expected = ir::EvaluateNaively(program, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto list = Compile(program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(static_cast<int>(list->steps.size()), GetParam().launches);
    const auto actual = InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const bool half = inputs[0].type() == DataType::kFloat16;
    for (size_t o = 0; o < actual->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], half ? 2e-3 : 1e-5), "")
          << "output " << o;
    }
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

TEST_P(ProductChainTest, EqualsTheNaiveEvaluatorOnNumbersThatAreNone) {
  if (GetParam().program.inputs[0].type != DataType::kFloat32) GTEST_SKIP() << "floats alone";
  Check(ForGpu(), WithSpecialValues(RandomInputs(GetParam().program, 5)));
}

INSTANTIATE_TEST_SUITE_P(All, ProductChainTest, testing::ValuesIn(AttentionPrograms()),
                         [](const auto& info) { return info.param.program.name; });

}  // namespace
}  // namespace tartan::compiler::product_chains_test
