// SPDX-License-Identifier: Apache-2.0
// Tests which powers become multiplications.
#include "tile/graph/constant_operands/powers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

using ::testing::ElementsAre;

// Returns the operations of a function of tensors A and B with four elements, after powers are
// rewritten.
std::vector<ScalarOp> Operations(const std::string& code,
                                 const TensorShape& base = {DataType::kFloat32, {4}}) {
  const ir::Program original = BindTestProgram({"test", code, {base, {DataType::kFloat32, {4}}}});
  const ir::Program program = ExpandPowers(original);
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  EXPECT_EQ(program.values[program.outputs[0]].shape, original.values[original.outputs[0]].shape);
  std::vector<ScalarOp> operations;
  for (const ir::Value& value : program.values) {
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    if (elementwise != nullptr) operations.push_back(elementwise->op);
  }
  return operations;
}

TEST(ExpandPowers, MakesAProductOfASquare) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, 2.0) + B; }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kAdd));
}

TEST(ExpandPowers, TakesTwoProductsForCubesAndFourthPowers) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, 3) + B; }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kMul, ScalarOp::kAdd));
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, 4.0) + B; }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kMul, ScalarOp::kAdd));
}

TEST(ExpandPowers, DividesWhereTheExponentIsMinusOne) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, -1.0) + B; }"),
              ElementsAre(ScalarOp::kRecip, ScalarOp::kAdd));
}

TEST(ExpandPowers, LeavesOtherExponentsAlone) {
  for (const char* power : {"pow(A, 0.5)", "pow(A, 5.0)", "pow(A, B)", "pow(2.0, A)"}) {
    EXPECT_THAT(Operations(absl::StrCat("function (A, B) -> (R) { R = ", power, " + B; }")),
                ElementsAre(ScalarOp::kPow, ScalarOp::kAdd))
        << power;
  }
}

TEST(ExpandPowers, LeavesPowersOfIntegersAlone) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, 2); }", {DataType::kInt32, {4}}),
              ElementsAre(ScalarOp::kPow));
}

TEST(ExpandPowers, LeavesBasesThatAreConvertedAlone) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = pow(A, as_float(2, 32)); }",
                         {DataType::kInt32, {4}}),
              ElementsAre(ScalarOp::kPow));
}

}  // namespace
}  // namespace tartan::graph
