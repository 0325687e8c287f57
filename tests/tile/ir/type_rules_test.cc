// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/type_rules.h"

#include "gtest/gtest.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using T = DataType;

TEST(Promote, FollowsFamilyThenWidthThenSign) {
  EXPECT_EQ(Promote(T::kFloat16, T::kInt64), T::kFloat16);
  EXPECT_EQ(Promote(T::kBool, T::kUInt8), T::kUInt8);
  EXPECT_EQ(Promote(T::kBool, T::kBool), T::kBool);
  EXPECT_EQ(Promote(T::kInt32, T::kUInt32), T::kInt32);
  EXPECT_EQ(Promote(T::kInt16, T::kUInt32), T::kUInt32);
  EXPECT_EQ(Promote(T::kFloat16, T::kBFloat16), T::kFloat32);
  EXPECT_EQ(Promote(T::kFloat32, T::kFloat64), T::kFloat64);
}

TEST(Promote, DoesNotDependOnOrder) {
  for (int a = 1; a <= 13; ++a) {
    for (int b = 1; b <= 13; ++b) {
      EXPECT_EQ(Promote(static_cast<T>(a), static_cast<T>(b)),
                Promote(static_cast<T>(b), static_cast<T>(a)));
    }
  }
}

TEST(CommonType, WeakLiteralsYield) {
  const OperandInfo weak_int{T::kInt32, true};
  const OperandInfo weak_real{T::kFloat32, true};
  const auto with = [](OperandInfo weak, T type) {
    const OperandInfo operands[] = {weak, {type, false}};
    return CommonType(operands);
  };
  EXPECT_EQ(with(weak_int, T::kInt8), T::kInt8);
  EXPECT_EQ(with(weak_int, T::kFloat16), T::kFloat16);
  EXPECT_EQ(with(weak_int, T::kBool), T::kInt32);
  EXPECT_EQ(with(weak_real, T::kFloat64), T::kFloat64);
  EXPECT_EQ(with(weak_real, T::kBFloat16), T::kBFloat16);
  EXPECT_EQ(with(weak_real, T::kInt64), T::kFloat32);
  EXPECT_EQ(with(weak_real, T::kBool), T::kFloat32);
}

TEST(OperandType, IsTheTypeOfTheComputation) {
  ProgramBuilder builder;
  const ValueId i = *builder.AddInput("I", {T::kInt32, {2}});
  const ValueId h = *builder.AddInput("H", {T::kFloat16, {2}});
  const ValueId sum = *builder.AddElementwise(ScalarOp::kAdd, {i, h});
  const ValueId select = *builder.AddElementwise(ScalarOp::kSelect, {i, h, i});
  const ValueId less = *builder.AddElementwise(ScalarOp::kLess, {i, i});
  const ValueId root = *builder.AddElementwise(ScalarOp::kSqrt, {i});
  const Program& program = builder.program();
  EXPECT_EQ(builder.shape(sum).type, T::kFloat16);
  EXPECT_EQ(OperandType(program, sum, 0), T::kFloat32);
  EXPECT_EQ(OperandType(program, select, 0), T::kBool);
  EXPECT_EQ(OperandType(program, select, 2), T::kFloat32);
  EXPECT_EQ(OperandType(program, less, 1), T::kInt32);
  EXPECT_EQ(OperandType(program, root, 0), T::kFloat32);
}

}  // namespace
}  // namespace tartan::ir
