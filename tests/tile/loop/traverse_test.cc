// SPDX-License-Identifier: Apache-2.0
// Traversal: every kind of node has its children visited and mapped.
#include "tile/loop/traverse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/loop/build.h"
#include "tile/loop/rename.h"

namespace tartan::loop::traverse_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DataType kF32 = DataType::kFloat32;
const Type kInt{DataType::kInt32, 1};
const Type kReal{kF32, 1};
const Type kVector{kF32, 4};

std::string TextOf(const ExprPtr& expr) { return ToString(expr); }
std::string TextOf(const StmtPtr& stmt) {
  const std::string* name = NameOf(*stmt);
  return name == nullptr ? "?" : *name;
}

template <class Tree>
std::vector<std::string> ChildrenOf(const Tree& tree) {
  std::vector<std::string> children;
  ForEachChild(*tree, [&](const auto& child) { children.push_back(TextOf(child)); });
  return children;
}

ExprPtr Name(const char* name, Type type = kInt) { return Var(name, type); }
StmtPtr Set(const char* name) { return MakeAssign(name, Float(1)); }

// One of each kind, with children named a, b, c in the order of the text and itself named n.
std::vector<ExprPtr> Expressions() {
  return {Int(1),
          Float(1),
          Name("n"),
          LoadFrom("n", kF32, Name("a")),
          Select(Name("a", {DataType::kBool, 1}), Name("b"), Name("c")),
          MulAdd(Name("a", kReal), Name("b", kReal), Name("c", kReal)),
          Work(WorkId::kGlobal, 0),
          LaneOf(Name("a", kVector), 1),
          MakeShuffle(Name("a", kVector), Name("b", kVector), {0, 1, 4, 5})};
}

std::vector<StmtPtr> Statements() {
  return {MakeBlock({Set("a"), Set("b")}),
          MakeDeclare(kInt, "n", Name("a")),
          MakeDeclare(kInt, "n", nullptr, /*is_mutable=*/true),
          MakeArray(kReal, "n", 4),
          MakeAssign("n", Name("a")),
          MakeStore("n", kF32, Name("a"), Name("b", kReal)),
          MakeFor("n", Name("a"), Name("b"), Set("c")),
          MakeIf(Name("a", {DataType::kBool, 1}), Set("b"), Set("c")),
          MakeIf(Name("a", {DataType::kBool, 1}), Set("b")),
          MakeBarrier(),
          MakeAtomicUpdate("n", kF32, ScalarOp::kAdd, Name("a"), Name("b", kReal)),
          MakePrefetch("n", kF32, Name("a")),
          MakeComment("text")};
}

TEST(ForEachChild, VisitsExpressionsInTheOrderOfTheText) {
  std::vector<std::vector<std::string>> children;
  for (const ExprPtr& expr : Expressions()) children.push_back(ChildrenOf(expr));
  EXPECT_THAT(children, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre("a"),
                                    ElementsAre("a", "b", "c"), ElementsAre("a", "b", "c"),
                                    IsEmpty(), ElementsAre("a"), ElementsAre("a", "b")));
}

TEST(ForEachChild, VisitsOfStatementsWhatIsThere) {
  std::vector<std::vector<std::string>> children;
  for (const StmtPtr& stmt : Statements()) children.push_back(ChildrenOf(stmt));
  EXPECT_THAT(children,
              ElementsAre(ElementsAre("a", "b"), ElementsAre("a"), IsEmpty(), IsEmpty(),
                          ElementsAre("a"), ElementsAre("a", "b"), ElementsAre("a", "b", "c"),
                          ElementsAre("a", "b", "c"), ElementsAre("a", "b"), IsEmpty(),
                          ElementsAre("a", "b"), ElementsAre("a"), IsEmpty()));
}

TEST(MapChildren, ReturnsTheSameObjectWhereNothingChanges) {
  const auto keep = [](const auto& child) { return child; };
  for (const ExprPtr& expr : Expressions()) EXPECT_EQ(MapChildren(expr, keep), expr);
  for (const StmtPtr& stmt : Statements()) EXPECT_EQ(MapChildren(stmt, keep), stmt);
}

TEST(MapChildren, PutsEveryChildInItsPlace) {
  const auto primed = [](const auto& child) {
    auto copy = *child;
    if (auto* name = NameOf(copy)) *name += "'";
    return std::make_shared<const decltype(copy)>(copy);
  };
  const auto expect_primed = [&](const auto& tree) {
    std::vector<std::string> expected = ChildrenOf(tree);
    for (std::string& child : expected) child += "'";
    const auto mapped = MapChildren(tree, primed);
    EXPECT_EQ(ChildrenOf(mapped), expected);
    EXPECT_EQ(mapped == tree, expected.empty());
    EXPECT_EQ(mapped->node.index(), tree->node.index());
  };
  for (const ExprPtr& expr : Expressions()) expect_primed(expr);
  for (const StmtPtr& stmt : Statements()) expect_primed(stmt);
}

TEST(Rename, ReplacesNamesWhereverTheyStand) {
  const auto nest = [](const std::string& i, const std::string& x, const std::string& t) {
    const ExprPtr value = Var(t, kReal);
    return MakeFor(i, Int(0), Int(8),
                   MakeBlock({MakeDeclare(kReal, t, LoadFrom(x, kF32, Var(i, kInt))),
                              MakeIf(Less(Var(i, kInt), Int(3)),
                                     MakeStore("y", kF32, Var(i, kInt), Mul(value, value)))}));
  };
  EXPECT_TRUE(Equal(Rename(nest("i", "x", "t"), {{"i", "j"}, {"x", "z"}, {"t", "u"}}),
                    nest("j", "z", "u")));
  const StmtPtr other = nest("i", "x", "t");
  EXPECT_EQ(Rename(other, {{"k", "l"}}), other);
}

TEST(DeclaredNames, AreThoseOfInnerScopesToo) {
  const StmtPtr body =
      MakeBlock({MakeDeclare(kReal, "t", Float(1)), Set("assigned"),
                 MakeStore("stored", kF32, Int(0), Float(1)), MakeArray(kReal, "kept", 4)});
  const ExprPtr condition = Bool(true);
  EXPECT_THAT(DeclaredNames(MakeFor("i", Int(0), Int(8), MakeIf(condition, nullptr, body))),
              ElementsAre("i", "kept", "t"));
}

}  // namespace
}  // namespace tartan::loop::traverse_test
