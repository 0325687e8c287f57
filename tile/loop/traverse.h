// SPDX-License-Identifier: Apache-2.0
// Traversal of loop IR: the only place that lists the children and the name of each kind of node.
// Code that treats most kinds alike builds on it. A missing kind does not compile.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "tile/base/match.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {
namespace traverse {

template <class Node, class... Kinds>
concept OneOf = (std::same_as<std::remove_const_t<Node>, Kinds> || ...);

// Visits a child unless it is null.
void VisitOptional(auto& child, auto& visit) {
  if (child != nullptr) visit(child);
}

void Visit(OneOf<IntLiteral, FloatLiteral, Variable, WorkIndex> auto&, auto&) {}
void Visit(OneOf<Load> auto& load, auto& visit) { visit(load.index); }
void Visit(OneOf<Apply> auto& apply, auto& visit) {
  for (auto& operand : apply.operands) visit(operand);
}
void Visit(OneOf<MultiplyAdd> auto& sum, auto& visit) {
  visit(sum.a);
  visit(sum.b);
  visit(sum.accumulator);
}
void Visit(OneOf<Lane> auto& lane, auto& visit) { visit(lane.vector); }
void Visit(OneOf<Shuffle> auto& shuffle, auto& visit) {
  visit(shuffle.a);
  visit(shuffle.b);
}

void Visit(OneOf<DeclareArray, Barrier, EndCopies, AwaitCopies, AwaitTiles, Comment> auto&, auto&) {
}
void Visit(OneOf<Block> auto& block, auto& visit) {
  for (auto& statement : block.statements) VisitOptional(statement, visit);
}
void Visit(OneOf<Declare> auto& declare, auto& visit) { VisitOptional(declare.value, visit); }
void Visit(OneOf<Assign> auto& assign, auto& visit) { visit(assign.value); }
void Visit(OneOf<Store, AtomicUpdate> auto& store, auto& visit) {
  visit(store.index);
  visit(store.value);
}
void Visit(OneOf<Prefetch> auto& prefetch, auto& visit) { visit(prefetch.index); }
void Visit(OneOf<CopyVector> auto& copy, auto& visit) {
  visit(copy.to);
  visit(copy.from);
  VisitOptional(copy.count, visit);
}
void Visit(OneOf<MultiplyTiles> auto& product, auto& visit) {
  visit(product.accumulators);
  visit(product.left);
  visit(product.right);
}
void Visit(OneOf<Early, Once> auto& part, auto& visit) { VisitOptional(part.body, visit); }
void Visit(OneOf<Fetch> auto& fetch, auto& visit) {
  visit(fetch.input);
  visit(fetch.output);
  VisitOptional(fetch.body, visit);
}
void Visit(OneOf<For> auto& loop, auto& visit) {
  visit(loop.begin);
  visit(loop.end);
  VisitOptional(loop.body, visit);
}
void Visit(OneOf<If> auto& branch, auto& visit) {
  visit(branch.condition);
  VisitOptional(branch.then, visit);
  VisitOptional(branch.otherwise, visit);
}

}  // namespace traverse

// Calls `visit` with each child of `tree`, an Expr or Stmt, in textual order. Children are ExprPtr&
// or StmtPtr&, const if `tree` is. Null children are skipped.
template <class Tree, class Visitor>
void ForEachChild(Tree& tree, Visitor&& visit) {
  Match(tree.node, [&](auto& node) { traverse::Visit(node, visit); });
}

// The node with each child replaced by `map(child)`, called in the order of ForEachChild. Returns
// the same object if no child changes.
template <class Tree, class Map>
std::shared_ptr<const Tree> MapChildren(const std::shared_ptr<const Tree>& tree, Map&& map) {
  absl::InlinedVector<ExprPtr, 4> exprs;
  std::vector<StmtPtr> stmts;
  bool is_same = true;
  const auto keep = [&](auto mapped, const auto& child, auto* list) {
    is_same = is_same && mapped == child;
    list->push_back(std::move(mapped));
  };
  ForEachChild(*tree, Overloaded{[&](const ExprPtr& child) { keep(map(child), child, &exprs); },
                                 [&](const StmtPtr& child) {
                                   if constexpr (std::same_as<Tree, Stmt>)
                                     keep(map(child), child, &stmts);
                                 }});
  if (is_same) return tree;
  Tree copy = *tree;
  auto expr = exprs.begin();
  auto stmt = stmts.begin();
  ForEachChild(copy, Overloaded{[&](ExprPtr& child) { child = std::move(*expr++); },
                                [&](StmtPtr& child) { child = std::move(*stmt++); }});
  return std::make_shared<const Tree>(std::move(copy));
}

// The name that an Expr or Stmt node itself declares or uses; null if it has none.
template <class Tree>
auto* NameOf(Tree& tree) {
  using Name = std::conditional_t<std::is_const_v<Tree>, const std::string, std::string>;
  return Match(tree.node, [](auto& node) -> Name* {
    if constexpr (requires { node.name; }) {
      return &node.name;
    } else if constexpr (requires { node.buffer; }) {
      return &node.buffer;
    } else {
      return nullptr;
    }
  });
}

// The name of the variable, array or loop that the statement itself declares; else null.
inline const std::string* DeclaredName(const Stmt& stmt) {
  const bool declares = std::holds_alternative<Declare>(stmt.node) ||
                        std::holds_alternative<DeclareArray>(stmt.node) ||
                        std::holds_alternative<For>(stmt.node);
  return declares ? NameOf(stmt) : nullptr;
}

}  // namespace tartan::loop
