// SPDX-License-Identifier: Apache-2.0
// Tests row fusion on the available device, with sizes that are too slow for the interpreter.
#include <gtest/gtest.h>

#include "tests/tile/compiler/row_programs.h"
#include "tests/tile/evaluator/expect_naive.h"

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
  programs.push_back(
      {"GradientOfMaxPool",
       "function (X, D) -> (G) { O[n, c, y, x : 2, 3, 56, 56] = "
       ">(X[n, c, 2*y + r - 1, 2*x + s - 1]), r < 3, s < 3; "
       "G[n, c, 2*y + r - 1, 2*x + s - 1 : 2, 3, 112, 112] = "
       "+(X[n, c, 2*y + r - 1, 2*x + s - 1] == O[n, c, y, x] ? D[n, c, y, x]), "
       "r < 3, s < 3; }",
       {{DataType::kFloat32, {2, 3, 112, 112}}, {DataType::kFloat32, {2, 3, 56, 56}}}});
  return programs;
}

class RowChainDeviceTest : public testing::TestWithParam<TestProgram> {};

TEST_P(RowChainDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  const bool half = GetParam().inputs[0].type == DataType::kFloat16;
  ExpectNaiveResults(GetParam(), 11, half ? 1e-2 : 2e-5);
}

INSTANTIATE_TEST_SUITE_P(All, RowChainDeviceTest, testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::evaluator
