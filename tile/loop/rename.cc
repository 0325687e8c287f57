// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/rename.h"

#include <utility>

#include "tile/base/match.h"

namespace tartan::loop {
namespace {

class Renamer {
 public:
  explicit Renamer(const Renaming& renaming) : renaming_(renaming) {}

  StmtPtr Apply(const StmtPtr& stmt) {
    if (stmt == nullptr) return nullptr;
    Stmt result = *stmt;
    Match(
        result.node,
        [&](Block& block) {
          for (StmtPtr& child : block.statements) child = Apply(child);
        },
        [&](Declare& declare) {
          declare.name = NewName(declare.name);
          if (declare.value != nullptr) declare.value = Apply(declare.value);
        },
        [&](DeclareArray& array) { array.name = NewName(array.name); },
        [&](Assign& assign) {
          assign.name = NewName(assign.name);
          assign.value = Apply(assign.value);
        },
        [&](Store& store) {
          store.buffer = NewName(store.buffer);
          store.index = Apply(store.index);
          store.value = Apply(store.value);
        },
        [&](For& loop) {
          loop.name = NewName(loop.name);
          loop.begin = Apply(loop.begin);
          loop.end = Apply(loop.end);
          loop.body = Apply(loop.body);
        },
        [&](If& branch) {
          branch.condition = Apply(branch.condition);
          branch.then = Apply(branch.then);
          branch.otherwise = Apply(branch.otherwise);
        },
        [](Barrier&) {},
        [&](AtomicUpdate& update) {
          update.buffer = NewName(update.buffer);
          update.index = Apply(update.index);
          update.value = Apply(update.value);
        },
        [&](Prefetch& prefetch) {
          prefetch.buffer = NewName(prefetch.buffer);
          prefetch.index = Apply(prefetch.index);
        },
        [](Comment&) {});
    return std::make_shared<const Stmt>(std::move(result));
  }

 private:
  ExprPtr Apply(const ExprPtr& expr) {
    ExprPtr& known = renamed_[expr.get()];
    if (known != nullptr) return known;
    Expr result = *expr;
    Match(
        result.node, [](IntLiteral&) {}, [](FloatLiteral&) {},
        [&](Variable& variable) { variable.name = NewName(variable.name); },
        [&](Load& load) {
          load.buffer = NewName(load.buffer);
          load.index = Apply(load.index);
        },
        [&](loop::Apply& apply) {
          for (ExprPtr& operand : apply.operands) operand = Apply(operand);
        },
        [&](MultiplyAdd& sum) {
          sum.a = Apply(sum.a);
          sum.b = Apply(sum.b);
          sum.accumulator = Apply(sum.accumulator);
        },
        [](WorkIndex&) {}, [&](Lane& lane) { lane.vector = Apply(lane.vector); },
        [&](Shuffle& shuffle) {
          shuffle.a = Apply(shuffle.a);
          shuffle.b = Apply(shuffle.b);
        });
    ExprPtr made = std::make_shared<const Expr>(std::move(result));
    renamed_[expr.get()] = made;
    return made;
  }

  std::string NewName(const std::string& name) const {
    const auto found = renaming_.find(name);
    return found == renaming_.end() ? name : found->second;
  }

  const Renaming& renaming_;
  std::unordered_map<const Expr*, ExprPtr> renamed_;
};

void Collect(const StmtPtr& stmt, std::set<std::string>* names) {
  if (stmt == nullptr) return;
  Match(
      stmt->node,
      [&](const Block& block) {
        for (const StmtPtr& child : block.statements) Collect(child, names);
      },
      [&](const Declare& declare) { names->insert(declare.name); },
      [&](const DeclareArray& array) { names->insert(array.name); },
      [&](const For& loop) {
        names->insert(loop.name);
        Collect(loop.body, names);
      },
      [&](const If& branch) {
        Collect(branch.then, names);
        Collect(branch.otherwise, names);
      },
      [](const auto&) {});
}

}  // namespace

StmtPtr Rename(const StmtPtr& stmt, const Renaming& renaming) {
  return Renamer(renaming).Apply(stmt);
}

std::set<std::string> DeclaredNames(const StmtPtr& stmt) {
  std::set<std::string> names;
  Collect(stmt, &names);
  return names;
}

}  // namespace tartan::loop
