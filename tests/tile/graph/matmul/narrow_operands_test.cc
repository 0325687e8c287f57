// SPDX-License-Identifier: Apache-2.0
// Tests which values are stored in the type of the matrix unit.
#include "tile/graph/matmul/narrow_operands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"

namespace tartan::graph::narrow_operands_test {
namespace {

// Names of the operands of the last contraction.
std::vector<std::string> Factors(const std::string& code, std::vector<TensorShape> inputs) {
  const ir::Program program =
      NarrowMatmulOperands(BindTestProgram({"test", code, std::move(inputs)}), DataType::kBFloat16);
  std::vector<std::string> names;
  for (const ir::Value& value : program.values) {
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    if (contraction == nullptr) continue;
    names.clear();
    for (const ir::Access& input : contraction->inputs) {
      names.push_back(program.values[input.tensor].name);
    }
  }
  return names;
}

TEST(NarrowOperands, RoundsWhatOnlyMatmulsRead) {
  EXPECT_THAT(Factors("function (A, C[N, L]) -> (R) { E = exp(A);"
                      " R[i, l : 64, L] = +(E[i, j] * C[j, l]); }",
                      {F32({64, 32}), F32({32, 8})}),
              ::testing::ElementsAre("E_narrow", "C"));
}

TEST(NarrowOperands, ReadsAValueThatIsRoundedAlready) {
  EXPECT_THAT(Factors("function (A, C[N, L]) -> (R) { H = as_bfloat(exp(A)); E = as_float(H, 32);"
                      " R[i, l : 64, L] = +(E[i, j] * C[j, l]); }",
                      {F32({64, 32}), F32({32, 8})}),
              ::testing::ElementsAre("H", "C"));
}

TEST(NarrowOperands, RoundsAgainToAnotherType) {
  EXPECT_THAT(Factors("function (A, C[N, L]) -> (R) { H = as_float(exp(A), 16);"
                      " E = as_float(H, 32); R[i, l : 64, L] = +(E[i, j] * C[j, l]); }",
                      {F32({64, 32}), F32({32, 8})}),
              ::testing::ElementsAre("E_narrow", "C"));
}

}  // namespace
}  // namespace tartan::graph::narrow_operands_test
