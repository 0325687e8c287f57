// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/simplify.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tile/base/match.h"
#include "tile/loop/build.h"
#include "tile/loop/expr_rewriter.h"
#include "tile/loop/traverse.h"
#include "tile/loop/uses.h"

namespace tartan::loop {
namespace {

// Maximum rounds until nothing changes; each is linear. Nested loops and divisions need only a few.
constexpr int kMaxRounds = 32;

// Maximum size of a value that replaces its variable; larger ones keep their name for readability.
constexpr int kMaxPropagatedNodes = 12;

template <class Node>
StmtPtr Make(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

bool IsLiteral(const ExprPtr& expr) {
  return std::holds_alternative<IntLiteral>(expr->node) ||
         std::holds_alternative<FloatLiteral>(expr->node);
}

// Counts nodes as printed, up to `limit`.
int CountNodes(const ExprPtr& expr, int limit) {
  int count = 1;
  ForEachChild(*expr, [&](const ExprPtr& child) {
    if (count < limit) count += CountNodes(child, limit - count);
  });
  return count;
}

// Returns whether the statement is more than comments.
bool HasEffect(const StmtPtr& stmt) {
  if (stmt == nullptr || std::holds_alternative<Comment>(stmt->node)) return false;
  const auto* block = std::get_if<Block>(&stmt->node);
  return block == nullptr ||
         std::any_of(block->statements.begin(), block->statements.end(), HasEffect);
}

// One round over a kernel. A removed statement becomes null; an unchanged one stays the same
// object.
class StmtRewriter {
 public:
  explicit StmtRewriter(const Kernel& kernel) : expressions_(kernel), uses_(FindUses(kernel)) {}

  StmtPtr Rewrite(const StmtPtr& stmt) {
    if (stmt == nullptr) return nullptr;
    return Match(
        stmt->node, [&](const Block& block) { return RewriteBlock(stmt, block); },
        [&](const Declare& declare) { return RewriteDeclare(stmt, declare); },
        [&](const DeclareArray& array) {
          if (uses_.of[stmt.get()].reads > 0) return stmt;
          Remove(array.name);
          return StmtPtr();
        },
        [&](const For& loop) { return RewriteFor(stmt, loop); },
        [&](const If& branch) { return RewriteIf(stmt, branch); },
        [&](const auto&) { return RewriteWrite(stmt); });
  }

 private:
  StmtPtr RewriteBlock(const StmtPtr& stmt, const Block& block) {
    std::vector<StmtPtr> statements;
    bool is_same = true;
    for (const StmtPtr& child : block.statements) {
      StmtPtr rewritten = Rewrite(child);
      is_same = is_same && rewritten == child && !std::holds_alternative<Block>(child->node);
      if (rewritten != nullptr) statements.push_back(std::move(rewritten));
    }
    if (is_same) return stmt;
    return MakeBlock(std::move(statements));
  }

  // Rewrites a scope and drops its bindings at the end.
  StmtPtr RewriteScope(const StmtPtr& stmt) {
    std::vector<std::string> outer;
    std::swap(outer, bound_);
    StmtPtr result = Rewrite(stmt);
    for (const std::string& name : bound_) Forget(name);
    bound_ = std::move(outer);
    return result;
  }

  void Bind(const std::string& name, Binding binding) {
    if (binding.is_mutable) mutable_.insert(name);
    expressions_.Bind(name, std::move(binding));
    bound_.push_back(name);
  }

  void Remove(const std::string& name) {
    removed_.insert(name);
    bound_.push_back(name);
  }

  void Forget(const std::string& name) {
    expressions_.Unbind(name);
    mutable_.erase(name);
    removed_.erase(name);
  }

  StmtPtr RewriteDeclare(const StmtPtr& stmt, const Declare& declare) {
    const Use use = uses_.of[stmt.get()];
    if (use.reads == 0) {
      Remove(declare.name);
      return nullptr;
    }
    ExprPtr value = declare.value == nullptr ? nullptr : expressions_.Rewrite(declare.value);
    Binding binding;
    binding.is_mutable = declare.is_mutable;
    const bool replaces = !declare.is_mutable && ShouldPropagate(value, use);
    if (!declare.is_mutable) binding.range = expressions_.RangeOf(value);
    if (replaces) binding.replacement = value;
    Bind(declare.name, std::move(binding));
    if (replaces) return nullptr;
    if (value == declare.value) return stmt;
    return Make(Declare{declare.type, declare.name, std::move(value), declare.is_mutable});
  }

  // Always propagates constants and plain variables. Propagates an integer expression if it is read
  // once, and no loop inside the declaration's scope encloses the read.
  bool ShouldPropagate(const ExprPtr& value, const Use& use) const {
    if (IsLiteral(value)) return true;
    const bool is_index = value->type.lanes == 1 && IsInteger(value->type.element);
    const bool is_name = std::holds_alternative<Variable>(value->node);
    if (!is_name && !(is_index && use.reads == 1 && !use.in_inner_loop)) return false;
    if (CountNodes(value, kMaxPropagatedNodes + 1) > kMaxPropagatedNodes) return false;
    return IsMovable(value, mutable_);
  }

  // A statement without scopes or declarations. Writes to removed declarations are removed, too.
  StmtPtr RewriteWrite(const StmtPtr& stmt) {
    const std::string* name = NameOf(*stmt);
    if (name != nullptr && removed_.count(*name) > 0) return nullptr;
    StmtPtr result = MapChildren(
        stmt, Overloaded{[&](const ExprPtr& child) { return expressions_.Rewrite(child); },
                         [&](const StmtPtr& child) { return Rewrite(child); }});
    const auto* assign = std::get_if<Assign>(&result->node);
    if (assign == nullptr) return result;
    const auto* variable = std::get_if<Variable>(&assign->value->node);
    return variable != nullptr && variable->name == assign->name ? nullptr : result;
  }

  StmtPtr RewriteFor(const StmtPtr& stmt, const For& loop) {
    ExprPtr begin = expressions_.Rewrite(loop.begin);
    const Range first = expressions_.RangeOf(begin);
    ExprPtr end = expressions_.Rewrite(loop.end);
    const Range last = expressions_.RangeOf(end);
    if (last.greatest <= first.least) return nullptr;
    const auto from = LiteralValue(begin);
    const auto to = LiteralValue(end);
    if (from && to && *to - *from <= loop.step) return RewriteSingle(loop, begin);
    Binding binding;
    binding.range = {first.least, last.greatest - 1};
    std::vector<std::string> outer;
    std::swap(outer, bound_);
    Bind(loop.name, std::move(binding));
    StmtPtr body = RewriteScope(loop.body);
    Forget(loop.name);
    bound_ = std::move(outer);
    if (!HasEffect(body)) return nullptr;
    if (begin == loop.begin && end == loop.end && body == loop.body) return stmt;
    return MakeFor(loop.name, std::move(begin), std::move(end), std::move(body), loop.step,
                   loop.unroll);
  }

  // Replaces a loop of one iteration by its body.
  StmtPtr RewriteSingle(const For& loop, const ExprPtr& begin) {
    Binding binding;
    binding.replacement = begin;
    expressions_.Bind(loop.name, std::move(binding));
    StmtPtr body = RewriteScope(loop.body);
    Forget(loop.name);
    return RenameShared(body, &uses_.declarations);
  }

  StmtPtr RewriteIf(const StmtPtr& stmt, const If& branch) {
    ExprPtr condition = expressions_.Rewrite(branch.condition);
    if (const auto value = LiteralValue(condition)) {
      return RenameShared(RewriteScope(*value ? branch.then : branch.otherwise),
                          &uses_.declarations);
    }
    StmtPtr then = RewriteScope(branch.then);
    StmtPtr otherwise = RewriteScope(branch.otherwise);
    if (!HasEffect(otherwise)) otherwise = nullptr;
    if (!HasEffect(then)) {
      if (otherwise == nullptr) return nullptr;
      return MakeIf(Not(std::move(condition)), std::move(otherwise));
    }
    const bool is_same =
        condition == branch.condition && then == branch.then && otherwise == branch.otherwise;
    return is_same ? stmt : MakeIf(std::move(condition), std::move(then), std::move(otherwise));
  }

  ExprRewriter expressions_;
  KernelUses uses_;
  std::vector<std::string> bound_;  // in the current scope
  std::unordered_set<std::string> mutable_;
  std::unordered_set<std::string> removed_;  // removed declarations, whose stores are removed, too
};

}  // namespace

Kernel Simplify(const Kernel& kernel) {
  Kernel result = kernel;
  for (int round = 0; round < kMaxRounds; ++round) {
    StmtPtr body = StmtRewriter(result).Rewrite(result.body);
    if (body == result.body) break;
    result.body = body == nullptr ? MakeBlock({}) : std::move(body);
  }
  return result;
}

}  // namespace tartan::loop
