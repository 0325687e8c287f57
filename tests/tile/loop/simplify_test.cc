// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/simplify.h"

#include <gtest/gtest.h>

#include "tile/loop/build.h"

namespace tartan::loop::simplify_test {
namespace {

constexpr DataType kF32 = DataType::kFloat32;
const Type kInt{DataType::kInt32, 1};
const Type kFloat{kF32, 1};

Kernel MakeKernel(StmtPtr body) {
  Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  kernel.global_size[0] = 16;
  kernel.local_size[0] = 4;
  kernel.body = std::move(body);
  return kernel;
}

// The statements of the simplified kernel.
std::string Simplified(StmtPtr body) {
  Kernel kernel = Simplify(MakeKernel(std::move(body)));
  kernel.parameters.clear();
  const std::string text = ToString(kernel);
  return text.substr(text.find('\n') + 1);
}

ExprPtr X(ExprPtr index) { return LoadFrom("x", kF32, std::move(index)); }
ExprPtr I(const char* name) { return Var(name, kInt); }
StmtPtr StoreY(ExprPtr index, ExprPtr value) {
  return MakeStore("y", kF32, std::move(index), std::move(value));
}

TEST(Simplify, LeavesAShortKernelAlone) {
  const Kernel kernel =
      MakeKernel(MakeFor("i", Int(0), Int(4), StoreY(I("i"), Add(X(I("i")), Float(1)))));
  EXPECT_EQ(Simplify(kernel).body, kernel.body);
}

TEST(Simplify, RemovesLoopsOfOneRoundAndOfNone) {
  EXPECT_EQ(Simplified(MakeFor("i", Int(2), Int(3), StoreY(I("i"), X(Add(I("i"), Int(1)))))),
            "  y[2]:float32 = x[3]\n");
  EXPECT_EQ(Simplified(MakeFor("i", Int(2), Int(2), StoreY(I("i"), Float(0)))), "");
}

TEST(Simplify, KeepsNamesApartWhenScopesGo) {
  const auto body = [](int i) {
    return MakeFor("i", Int(i), Int(i + 1),
                   MakeBlock({MakeDeclare(kFloat, "t", X(I("i"))),
                              StoreY(I("i"), Mul(Var("t", kFloat), Var("t", kFloat)))}));
  };
  EXPECT_EQ(Simplified(MakeBlock({body(0), body(1)})),
            "  let t_1: float32 = x[0]\n"
            "  y[0]:float32 = (t_1 * t_1)\n"
            "  let t: float32 = x[1]\n"
            "  y[1]:float32 = (t * t)\n");
}

TEST(Simplify, DecidesConditionsByRanges) {
  const ExprPtr item = Work(WorkId::kLocal, 0);  // 0 .. 3
  EXPECT_EQ(Simplified(MakeIf(Less(item, Int(4)), StoreY(item, Float(1)), StoreY(item, Float(2)))),
            "  y[local_id(0)]:float32 = 1.0\n");
  EXPECT_EQ(Simplified(MakeFor(
                "i", Int(0), Int(8),
                MakeIf(Less(Add(I("i"), Mul(item, Int(8))), Int(32)), StoreY(I("i"), Float(1))))),
            "  for i in 0 .. 8\n    y[i]:float32 = 1.0\n");
  EXPECT_EQ(Simplified(MakeIf(Less(item, Int(3)), StoreY(item, Float(1)))),
            "  if (local_id(0) < 3)\n    y[local_id(0)]:float32 = 1.0\n");
}

TEST(Simplify, DividesSumsWithoutARest) {
  const ExprPtr sum = Add(Mul(I("i"), Int(8)), I("j"));
  const auto loops = [&](ExprPtr index) {
    return MakeFor("i", Int(0), Int(4), MakeFor("j", Int(0), Int(8), StoreY(index, Float(0))));
  };
  EXPECT_EQ(Simplified(loops(Div(sum, Int(8)))),
            "  for i in 0 .. 4\n    for j in 0 .. 8\n      y[i]:float32 = 0.0\n");
  EXPECT_EQ(Simplified(loops(Mod(sum, Int(8)))),
            "  for i in 0 .. 4\n    for j in 0 .. 8\n      y[j]:float32 = 0.0\n");
  EXPECT_EQ(Simplified(loops(Div(sum, Int(7)))),
            "  for i in 0 .. 4\n    for j in 0 .. 8\n      y[(((i * 8) + j) / 7)]:float32 = 0.0\n");
}

TEST(Simplify, PropagatesLiteralsNamesAndSingleUses) {
  EXPECT_EQ(Simplified(MakeBlock(
                {MakeDeclare(kInt, "a", Int(3)), MakeDeclare(kInt, "g", Work(WorkId::kGroup, 0)),
                 MakeDeclare(kInt, "h", I("g")), MakeDeclare(kInt, "b", Add(I("h"), I("a"))),
                 StoreY(I("b"), X(Mul(I("g"), I("a"))))})),
            "  let g: int32 = group_id(0)\n  y[(g + 3)]:float32 = x[(g * 3)]\n");
}

TEST(Simplify, KeepsLoopInvariantsOutside) {
  const std::string text = Simplified(
      MakeBlock({MakeDeclare(kInt, "base", Mul(Work(WorkId::kGlobal, 0), Int(5))),
                 MakeFor("i", Int(0), Int(5), StoreY(Add(I("base"), I("i")), Float(0)))}));
  EXPECT_EQ(text,
            "  let base: int32 = (global_id(0) * 5)\n"
            "  for i in 0 .. 5\n    y[(base + i)]:float32 = 0.0\n");
}

TEST(Simplify, DoesNotMoveReadsOfMutableVariables) {
  const std::string text =
      Simplified(MakeBlock({MakeDeclare(kInt, "m", Work(WorkId::kLocal, 0), true),
                            MakeDeclare(kInt, "before", Add(I("m"), Int(1))),
                            MakeAssign("m", Add(I("m"), Int(2))), StoreY(I("before"), X(I("m")))}));
  EXPECT_EQ(text,
            "  var m: int32 = local_id(0)\n"
            "  let before: int32 = (m + 1)\n"
            "  m = (m + 2)\n"
            "  y[before]:float32 = x[m]\n");
}

TEST(Simplify, RemovesWhatNobodyReads) {
  EXPECT_EQ(Simplified(MakeBlock(
                {MakeArray(kFloat, "t", 4), MakeStore("t", kF32, Int(0), X(Int(0))),
                 MakeDeclare(kFloat, "a", X(Int(1)), true), MakeAssign("a", Float(2)),
                 MakeFor("i", Int(0), Int(4), MakeComment("nothing")), StoreY(Int(0), Float(0))})),
            "  y[0]:float32 = 0.0\n");
}

TEST(Simplify, KeepsFloatMeaning) {
  EXPECT_EQ(Simplified(StoreY(Int(0), Add(X(Int(0)), Float(0)))),
            "  y[0]:float32 = (x[0] + 0.0)\n");
  EXPECT_EQ(Simplified(StoreY(Int(0), Mul(X(Int(0)), Float(0)))),
            "  y[0]:float32 = (x[0] * 0.0)\n");
  EXPECT_EQ(Simplified(StoreY(Int(0), Mul(X(Int(0)), Float(1)))), "  y[0]:float32 = x[0]\n");
  EXPECT_EQ(Simplified(StoreY(Int(0), Mul(Float(2), Float(3)))), "  y[0]:float32 = 6.0\n");
  EXPECT_EQ(Simplified(MakeIf(Not(Less(X(Int(0)), Float(0))), StoreY(Int(0), Float(0)))),
            "  if logical_not((x[0] < 0.0))\n    y[0]:float32 = 0.0\n");
}

TEST(Simplify, IsLinearInSharedExpressions) {
  ExprPtr shared = X(Int(0));
  for (int i = 0; i < 200; ++i) shared = Add(shared, shared);  // 2^200 as a tree
  const Kernel kernel = MakeKernel(StoreY(Int(0), Mul(shared, Float(1))));
  const Kernel simple = Simplify(kernel);
  EXPECT_EQ(std::get<Store>(simple.body->node).value, shared);
}

}  // namespace
}  // namespace tartan::loop::simplify_test
