// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/loop/build.h"

namespace tartan::loop::verify_test {
namespace {

using ::testing::HasSubstr;

constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI32 = DataType::kInt32;
const Type kInt{kI32, 1};
const Type kFloat{kF32, 1};

// The message of Verify for a kernel with an output y and an input x of float32; "" when accepted.
std::string Message(StmtPtr body) {
  Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  kernel.body = std::move(body);
  return std::string(Verify(kernel).message());
}

ExprPtr Raw(Type type, ScalarOp op, std::vector<ExprPtr> operands) {
  return std::make_shared<const Expr>(Expr{type, Apply{op, std::move(operands)}});
}

TEST(Verify, AcceptsACorrectKernel) {
  const ExprPtr i = Var("i", kInt);
  EXPECT_EQ(Message(MakeBlock(
                {MakeDeclare(kFloat, "sum", Float(0), true),
                 MakeFor("i", Int(0), Int(4),
                         MakeAssign("sum", Add(Var("sum", kFloat), LoadFrom("x", kF32, i)))),
                 MakeFor("i", Int(0), Int(4), MakeStore("y", kF32, i, Var("sum", kFloat)))})),
            "");
}

TEST(Verify, RefusesNamesOutOfScope) {
  EXPECT_THAT(Message(MakeStore("y", kF32, Var("i", kInt), Float(0))),
              HasSubstr("kernel k: 'i' is not a variable in scope"));
  EXPECT_THAT(Message(MakeStore("z", kF32, Int(0), Float(0))), HasSubstr("'z' is not a buffer"));
  EXPECT_THAT(Message(MakeBlock({MakeFor("i", Int(0), Int(2), MakeBarrier()),
                                 MakeStore("y", kF32, Var("i", kInt), Float(0))})),
              HasSubstr("'i' is not a variable in scope"));
}

TEST(Verify, LeavesSixteenBitFloatsToCasts) {
  const ExprPtr x = LoadFrom("x", kF32, Int(0));
  const ExprPtr half = Cast(x, DataType::kFloat16);
  EXPECT_EQ(Message(MakeStore("y", kF32, Int(0), Cast(half, kF32))), "");
  EXPECT_THAT(Message(MakeStore("y", kF32, Int(0), Cast(Add(half, half), kF32))),
              HasSubstr("add is not defined for float16"));
  EXPECT_THAT(Message(MakeDeclare(kInt, "i", Cast(half, kI32))),
              HasSubstr("a 16-bit float is not cast to float32"));
}

TEST(Verify, RefusesASecondDeclaration) {
  EXPECT_THAT(Message(MakeBlock({MakeDeclare(kInt, "a", Int(1)),
                                 MakeIf(Bool(true), MakeDeclare(kInt, "a", Int(2)))})),
              HasSubstr("'a' is declared twice"));
}

TEST(Verify, RefusesToFetchWhatIsNoBuffer) {
  EXPECT_EQ(Message(MakePrefetch("x", kF32, Int(64))), "");
  EXPECT_THAT(Message(MakePrefetch("x", kI32, Int(64))),
              HasSubstr("no element of 'x' to prefetch"));
  EXPECT_THAT(Message(MakeBlock({MakeArray(kFloat, "a", 4), MakePrefetch("a", kF32, Int(0))})),
              HasSubstr("no element of 'a' to prefetch"));
}

TEST(Verify, RefusesWrites) {
  EXPECT_THAT(Message(MakeStore("x", kF32, Int(0), Float(0))), HasSubstr("store to the input 'x'"));
  EXPECT_THAT(Message(MakeBlock({MakeDeclare(kInt, "a", Int(1)), MakeAssign("a", Int(2))})),
              HasSubstr("'a' is not a mutable variable"));
}

TEST(Verify, RefusesTypesThatDoNotMatch) {
  EXPECT_THAT(Message(MakeDeclare(kInt, "a", Float(1))), HasSubstr("'a' of type int32"));
  EXPECT_THAT(Message(MakeDeclare(kFloat, "a", Raw(kFloat, ScalarOp::kAdd, {Float(1), Int(1)}))),
              HasSubstr("operands of types float32 and int32"));
  EXPECT_THAT(Message(MakeStore("y", DataType::kFloat16, Int(0), Float(0))),
              HasSubstr("'y' holds float32, not float16"));
  EXPECT_THAT(Message(MakeIf(Int(1), MakeBarrier())), HasSubstr("not a scalar bool"));
}

TEST(Verify, RefusesOperationsThatAreNotDefined) {
  EXPECT_THAT(Message(MakeDeclare(kInt, "a", Raw(kInt, ScalarOp::kExp, {Int(1)}))),
              HasSubstr("exp is not defined for int32"));
}

TEST(Verify, AcceptsVectorConditionsOfDifferentWidths) {
  const ExprPtr f = LoadFrom("x", kF32, Int(0), 4);
  const ExprPtr d = Cast(f, DataType::kFloat64);
  const ExprPtr narrow = Less(f, Float(0));
  const ExprPtr wide = Less(d, Float(0, DataType::kFloat64));
  EXPECT_EQ(Message(MakeStore("y", kF32, Int(0), Select(And(narrow, wide), f, Float(0)))), "");
}

TEST(Verify, RefusesLocalArraysInLoops) {
  EXPECT_THAT(Message(MakeFor("i", Int(0), Int(2), MakeArray(kFloat, "t", 4, Space::kLocal))),
              HasSubstr("local array 't' is in an inner scope"));
}

TEST(Verify, RefusesUnevenWorkGroups) {
  Kernel kernel;
  kernel.name = "k";
  kernel.global_size[1] = 5;
  kernel.local_size[1] = 2;
  EXPECT_THAT(std::string(Verify(kernel).message()), HasSubstr("in dimension 1"));
}

}  // namespace
}  // namespace tartan::loop::verify_test
