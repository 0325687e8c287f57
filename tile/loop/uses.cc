// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/uses.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/loop/rename.h"

namespace tartan::loop {
namespace {

class UseFinder {
 public:
  KernelUses Find(const Kernel& kernel) {
    for (const Parameter& parameter : kernel.parameters) ++uses_.declarations[parameter.name];
    Visit(kernel.body);
    return std::move(uses_);
  }

 private:
  struct Declaration {
    const Stmt* stmt;
    int loop_depth;
  };

  void Visit(const StmtPtr& stmt) {
    if (stmt == nullptr) return;
    Match(
        stmt->node,
        [&](const Block& block) {
          for (const StmtPtr& child : block.statements) Visit(child);
        },
        [&](const Declare& declare) {
          if (declare.value != nullptr) VisitRoot(declare.value);
          Add(declare.name, stmt.get());
        },
        [&](const DeclareArray& array) { Add(array.name, stmt.get()); },
        [&](const Assign& assign) { VisitRoot(assign.value); },
        [&](const Store& store) {
          VisitRoot(store.index);
          VisitRoot(store.value);
        },
        [&](const For& loop) {
          VisitRoot(loop.begin);
          ++loop_depth_;
          VisitRoot(loop.end);  // computed every round
          ++uses_.declarations[loop.name];
          Visit(loop.body);
          --loop_depth_;
        },
        [&](const If& branch) {
          VisitRoot(branch.condition);
          Visit(branch.then);
          Visit(branch.otherwise);
        },
        [&](const Barrier&) {},
        [&](const AtomicUpdate& update) {
          VisitRoot(update.index);
          VisitRoot(update.value);
        },
        [&](const Prefetch& prefetch) { VisitRoot(prefetch.index); }, [&](const Comment&) {});
  }

  // A later declaration of a name in a sibling scope takes the name over.
  void Add(const std::string& name, const Stmt* stmt) {
    ++uses_.declarations[name];
    declared_[name] = {stmt, loop_depth_};
    uses_.of[stmt];
  }

  void VisitRoot(const ExprPtr& expr) {
    visits_.clear();
    VisitExpr(expr);
  }

  // A shared node is visited at most twice: that tells one read from many in linear time.
  void VisitExpr(const ExprPtr& expr) {
    if (++visits_[expr.get()] > 2) return;
    Match(
        expr->node, [](const IntLiteral&) {}, [](const FloatLiteral&) {},
        [&](const Variable& variable) { Read(variable.name); },
        [&](const Load& load) {
          Read(load.buffer);
          VisitExpr(load.index);
        },
        [&](const Apply& apply) {
          for (const ExprPtr& operand : apply.operands) VisitExpr(operand);
        },
        [&](const MultiplyAdd& sum) {
          VisitExpr(sum.a);
          VisitExpr(sum.b);
          VisitExpr(sum.accumulator);
        },
        [](const WorkIndex&) {}, [&](const Lane& lane) { VisitExpr(lane.vector); },
        [&](const Shuffle& shuffle) {
          // Each operand is printed for many of the lanes.
          for (int time = 0; time < 2; ++time) {
            VisitExpr(shuffle.a);
            VisitExpr(shuffle.b);
          }
        });
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

void CollectDeclared(const StmtPtr& stmt, std::vector<std::string>* names) {
  if (const auto* block = std::get_if<Block>(&stmt->node)) {
    for (const StmtPtr& child : block->statements) CollectDeclared(child, names);
  } else if (const auto* declare = std::get_if<Declare>(&stmt->node)) {
    names->push_back(declare->name);
  } else if (const auto* array = std::get_if<DeclareArray>(&stmt->node)) {
    names->push_back(array->name);
  }
}

}  // namespace

KernelUses FindUses(const Kernel& kernel) { return UseFinder().Find(kernel); }

bool IsMovable(const ExprPtr& expr, const std::unordered_set<std::string>& mutable_names) {
  return Match(
      expr->node, [](const IntLiteral&) { return true; }, [](const FloatLiteral&) { return true; },
      [&](const Variable& variable) { return mutable_names.count(variable.name) == 0; },
      [](const Load&) { return false; },
      [&](const Apply& apply) {
        for (const ExprPtr& operand : apply.operands) {
          if (!IsMovable(operand, mutable_names)) return false;
        }
        return true;
      },
      [](const MultiplyAdd&) { return false; }, [](const WorkIndex&) { return true; },
      [](const Lane&) { return false; }, [](const Shuffle&) { return false; });
}

StmtPtr RenameShared(const StmtPtr& stmt, std::unordered_map<std::string, int>* declarations) {
  if (stmt == nullptr) return nullptr;
  std::vector<std::string> names;
  CollectDeclared(stmt, &names);
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
