// SPDX-License-Identifier: Apache-2.0
#include "tile/base/scalar_op.h"

#include "gtest/gtest.h"

namespace tartan {
namespace {

TEST(ScalarOp, NamesReadBack) {
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    EXPECT_EQ(ScalarOpFromName(Name(op)), op) << Name(op);
  }
  EXPECT_EQ(ScalarOpFromName("no_such_function"), std::nullopt);
}

TEST(ScalarOp, KnowsItsOperandsAndResult) {
  EXPECT_EQ(Name(ScalarOp::kLess), "cmp_lt");
  EXPECT_EQ(OperandCount(ScalarOp::kCast), 1);
  EXPECT_EQ(OperandCount(ScalarOp::kAdd), 2);
  EXPECT_EQ(OperandCount(ScalarOp::kGreaterEqual), 2);
  EXPECT_EQ(OperandCount(ScalarOp::kSelect), 3);
  EXPECT_TRUE(ReturnsBool(ScalarOp::kIsNan));
  EXPECT_TRUE(ReturnsBool(ScalarOp::kGreaterEqual));
  EXPECT_FALSE(ReturnsBool(ScalarOp::kBitAnd));
  EXPECT_FALSE(ReturnsBool(ScalarOp::kSelect));
  EXPECT_EQ(ResultType(ScalarOp::kAdd, DataType::kInt8), DataType::kInt8);
  EXPECT_EQ(ResultType(ScalarOp::kLess, DataType::kFloat32), DataType::kBool);
}

TEST(ScalarOp, OfKernelsHasAResultOfAnotherType) {
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    const bool is_pair = op == ScalarOp::kPairBFloat16, is_dot = op == ScalarOp::kDotBFloat16;
    EXPECT_EQ(IsOfKernels(op), is_pair || is_dot) << Name(op);
  }
  EXPECT_EQ(ResultType(ScalarOp::kPairBFloat16, DataType::kFloat32), DataType::kInt32);
  EXPECT_EQ(ResultType(ScalarOp::kDotBFloat16, DataType::kInt32), DataType::kFloat32);
}

}  // namespace
}  // namespace tartan
