// Chains of kernels over the same rows on the device at hand, with sizes that an interpreter is too
// slow for.
#include <gtest/gtest.h>

#include "tests/tile/compiler/row_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

std::vector<TestProgram> Programs() {
  std::vector<TestProgram> programs;
  for (const RowProgram& program : RowPrograms()) programs.push_back(program.program);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1023, 7}, {1023, 16}, {67, 1000}, {3, 4097}, {1, 4097}, {0, 5}}) {
    programs.push_back(SoftmaxOf(rows, columns));
    programs.push_back(LayerNormalizationOf(rows, columns));
  }
  return programs;
}

class RowChainDeviceTest : public testing::TestWithParam<TestProgram> {};

TEST_P(RowChainDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const std::vector<HostTensor> inputs = RandomInputs(GetParam(), 11);
  const auto expected = ir::EvaluateNaively(BindTestProgram(GetParam()), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto compiled = TestProgramCache().Get(ToProto(GetParam()));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto loaded = LoadedProgram::Load(*compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto actual = (*loaded)->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const bool half = GetParam().inputs[0].type == DataType::kFloat16;
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], half ? 1e-2 : 2e-5), "")
        << "output " << o;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowChainDeviceTest, testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::evaluator
