// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/build.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tartan::loop {
namespace {

const Type kInt{DataType::kInt32, 1};
const Type kFloat{DataType::kFloat32, 1};

ExprPtr X() { return Var("x", kInt); }

TEST(Build, LeavesVariablesAlone) {
  EXPECT_EQ(ToString(Add(X(), Var("y", kInt))), "(x + y)");
  EXPECT_EQ(ToString(Mul(X(), Int(3))), "(x * 3)");
}

TEST(Build, AppliesIntegerIdentities) {
  EXPECT_EQ(ToString(Add(X(), Int(0))), "x");
  EXPECT_EQ(ToString(Add(Int(0), X())), "x");
  EXPECT_EQ(ToString(Sub(X(), Int(0))), "x");
  EXPECT_EQ(ToString(Mul(X(), Int(1))), "x");
  EXPECT_EQ(ToString(Mul(X(), Int(0))), "0");
  EXPECT_EQ(ToString(Div(X(), Int(1))), "x");
  EXPECT_EQ(ToString(Mod(X(), Int(1))), "0");
  EXPECT_EQ(ToString(Add(Add(X(), Int(2)), Int(3))), "(x + 5)");
  EXPECT_EQ(ToString(Sub(Add(X(), Int(2)), Int(2))), "x");
  EXPECT_EQ(ToString(And(Less(X(), Int(3)), Bool(true))), "(x < 3)");
  EXPECT_EQ(ToString(And(Less(X(), Int(3)), Bool(false))), "0:bool");
  EXPECT_EQ(ToString(Select(Bool(false), X(), Int(9))), "9");
}

TEST(Build, FoldsIntegerLiteralsWithWrapping) {
  EXPECT_EQ(LiteralValue(Add(Int(2), Int(3))), 5);
  EXPECT_EQ(LiteralValue(Add(Int(INT32_MAX), Int(1))), INT32_MIN);
  EXPECT_EQ(LiteralValue(Div(Int(INT32_MIN), Int(-1))), INT32_MIN);
  EXPECT_EQ(LiteralValue(Less(Int(-1), Int(1))), 1);
  EXPECT_EQ(LiteralValue(Less(Int(-1, DataType::kUInt32), Int(1, DataType::kUInt32))), 0);
}

TEST(Build, DoesNotTouchFloats) {
  const ExprPtr x = Var("x", kFloat);
  EXPECT_EQ(ToString(Add(x, Float(0))), "(x + 0.0)");
  EXPECT_EQ(ToString(Mul(x, Float(0))), "(x * 0.0)");
}

TEST(Build, GivesLiteralsTheTypeOfTheOtherOperand) {
  const ExprPtr wide = Add(Var("x", Type{DataType::kInt64, 1}), Int(3));
  EXPECT_EQ(wide->type, (Type{DataType::kInt64, 1}));
  EXPECT_EQ(ToString(Mul(Int(2), Var("x", kFloat))), "(2.0 * x)");
}

TEST(Build, SplatsScalarsBesideVectors) {
  const ExprPtr v = Var("v", Type{DataType::kFloat32, 4});
  EXPECT_EQ(ToString(Mul(v, Var("x", kFloat))), "(v * float32x4(x))");
  EXPECT_EQ(ToString(MulAdd(Var("x", kFloat), v, v)), "(v + float32x4(x) * v)");
  const ExprPtr chosen = Select(Less(v, Float(0)), v, Float(0));
  EXPECT_EQ(chosen->type, v->type);
}

TEST(Equal, ComparesStructureNotPointers) {
  EXPECT_TRUE(Equal(Add(X(), Int(3)), Add(X(), Int(3))));
  EXPECT_FALSE(Equal(Add(X(), Int(3)), Add(X(), Int(4))));
  EXPECT_FALSE(Equal(Int(3), Int(3, DataType::kInt64)));
  EXPECT_TRUE(Equal(Float(NAN), Float(NAN)));
  EXPECT_FALSE(Equal(Float(0.0), Float(-0.0)));
  EXPECT_FALSE(Equal(MakeAssign("a", X()), MakeAssign("b", X())));
}

}  // namespace
}  // namespace tartan::loop
