// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/uses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/loop/rename.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

class UseFinder {
 public:
  KernelUses Find(const Kernel& kernel) {
    for (const Parameter& parameter : kernel.parameters) ++uses_.declarations[parameter.name];
    if (kernel.body != nullptr) Visit(kernel.body);
    return std::move(uses_);
  }

 private:
  struct Declaration {
    const Stmt* stmt;
    int loop_depth;
  };

  void Visit(const StmtPtr& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt->node)) return VisitFor(*loop);
    ForEachChild(*stmt, [&](const auto& child) { Visit(child); });
    if (const std::string* name = DeclaredName(*stmt)) Add(*name, stmt.get());
  }

  void VisitFor(const For& loop) {
    Visit(loop.begin);
    ++loop_depth_;
    Visit(loop.end);  // evaluated in every iteration
    ++uses_.declarations[loop.name];
    if (loop.body != nullptr) Visit(loop.body);
    --loop_depth_;
  }

  // A later declaration of the same name in a sibling scope replaces the earlier one.
  void Add(const std::string& name, const Stmt* stmt) {
    ++uses_.declarations[name];
    declared_[name] = {stmt, loop_depth_};
    uses_.of[stmt];
  }

  // Visits an expression that belongs to a statement.
  void Visit(const ExprPtr& expr) {
    visits_.clear();
    VisitExpr(expr);
  }

  // Visiting a shared node at most twice distinguishes one read from several, in linear time.
  void VisitExpr(const ExprPtr& expr) {
    if (++visits_[expr.get()] > 2) return;
    if (const std::string* name = NameOf(*expr)) Read(*name);
    // Shuffle is printed lane by lane, so that each operand is read several times.
    const int times = std::holds_alternative<Shuffle>(expr->node) ? 2 : 1;
    for (int time = 0; time < times; ++time) {
      ForEachChild(*expr, [&](const ExprPtr& child) { VisitExpr(child); });
    }
  }

  void Read(const std::string& name) {
    const auto found = declared_.find(name);
    if (found == declared_.end()) return;  // a parameter or loop variable
    Use& use = uses_.of[found->second.stmt];
    use.reads = std::min(use.reads + 1, 2);
    use.in_inner_loop = use.in_inner_loop || loop_depth_ > found->second.loop_depth;
  }

  KernelUses uses_;
  std::unordered_map<std::string, Declaration> declared_;
  std::unordered_map<const Expr*, int> visits_;
  int loop_depth_ = 0;
};

// The names declared in the statement's own scope.
void CollectDeclared(const Stmt& stmt, std::vector<std::string>* names) {
  if (std::holds_alternative<Block>(stmt.node)) {
    ForEachChild(stmt, Overloaded{[&](const StmtPtr& child) { CollectDeclared(*child, names); },
                                  [](const ExprPtr&) {}});
  } else if (!std::holds_alternative<For>(stmt.node)) {
    if (const std::string* name = DeclaredName(stmt)) names->push_back(*name);
  }
}

}  // namespace

KernelUses FindUses(const Kernel& kernel) { return UseFinder().Find(kernel); }

bool IsMovable(const ExprPtr& expr, const std::unordered_set<std::string>& mutable_names) {
  bool is_movable = Match(
      expr->node, [&](const Variable& variable) { return mutable_names.count(variable.name) == 0; },
      [](const traverse::OneOf<IntLiteral, FloatLiteral, WorkIndex, Apply> auto&) { return true; },
      [](const traverse::OneOf<Load, MultiplyAdd, Lane, Shuffle> auto&) { return false; });
  ForEachChild(*expr, [&](const ExprPtr& child) {
    is_movable = is_movable && IsMovable(child, mutable_names);
  });
  return is_movable;
}

StmtPtr RenameShared(const StmtPtr& stmt, std::unordered_map<std::string, int>* declarations) {
  if (stmt == nullptr) return nullptr;
  std::vector<std::string> names;
  CollectDeclared(*stmt, &names);
  Renaming renaming;
  for (const std::string& name : names) {
    int& count = (*declarations)[name];
    if (count < 2) continue;
    --count;
    std::string fresh;
    for (int i = 1; fresh.empty() || declarations->count(fresh) > 0; ++i) {
      fresh = absl::StrCat(name, "_", i);
    }
    (*declarations)[fresh] = 1;
    renaming[name] = fresh;
  }
  return renaming.empty() ? stmt : Rename(stmt, renaming);
}

}  // namespace tartan::loop
