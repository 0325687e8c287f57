// SPDX-License-Identifier: Apache-2.0
// Tests which divisions become multiplications.
#include "tile/graph/constant_operands/divisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph::divisions_test {
namespace {

using ::testing::ElementsAre;

// Returns the operations of a function of tensors A and B, after divisions are rewritten.
std::vector<ScalarOp> Operations(const std::string& code) {
  const TensorShape shape = {DataType::kFloat32, {4}};
  const ir::Program program =
      MultiplyByReciprocals(BindTestProgram({"test", code, {shape, shape}}));
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  std::vector<ScalarOp> operations;
  for (const ir::Value& value : program.values) {
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    if (elementwise != nullptr) operations.push_back(elementwise->op);
  }
  return operations;
}

TEST(MultiplyByReciprocals, MultipliesWhereTheQuotientIsRounded) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = as_bfloat(A / 1.41421356) ; }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kCast));
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = as_float(A / 3.0, 16); }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kCast));
}

TEST(MultiplyByReciprocals, MultipliesWhereASumOfTheQuotientIsRounded) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = as_bfloat(B - A / 3.0); }"),
              ElementsAre(ScalarOp::kMul, ScalarOp::kSub, ScalarOp::kCast));
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = as_bfloat(floor(A / 3.0) + B); }"),
              ElementsAre(ScalarOp::kDiv, ScalarOp::kFloor, ScalarOp::kAdd, ScalarOp::kCast));
}

TEST(MultiplyByReciprocals, LeavesQuotientsAloneThatAreReadInFull) {
  EXPECT_THAT(Operations("function (A, B) -> (R) { R = A / 3.0; }"), ElementsAre(ScalarOp::kDiv));
  EXPECT_THAT(Operations("function (A, B) -> (R) { Q = A / 3.0; H = as_bfloat(Q); R = H * Q; }"),
              ElementsAre(ScalarOp::kDiv, ScalarOp::kCast, ScalarOp::kMul));
  EXPECT_THAT(Operations("function (A, B) -> (Q, R) { Q = A / 3.0; R = as_bfloat(Q); }"),
              ElementsAre(ScalarOp::kDiv, ScalarOp::kCast));
}

TEST(MultiplyByReciprocals, LeavesOtherDivisorsAlone) {
  for (const char* code : {"R = as_bfloat(A / B);", "R = as_bfloat(3.0 / A);",
                           "R = as_bfloat(A / 1e-38);", "R = as_bfloat(A / 0.0);"}) {
    EXPECT_THAT(Operations(std::string("function (A, B) -> (R) { ") + code + " }"),
                ElementsAre(ScalarOp::kDiv, ScalarOp::kCast))
        << code;
  }
}

}  // namespace
}  // namespace tartan::graph::divisions_test
