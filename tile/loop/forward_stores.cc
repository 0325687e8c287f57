// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/forward_stores.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/base/match.h"

namespace tartan::loop {
namespace {

class Forwarder {
 public:
  explicit Forwarder(const std::function<bool(const std::string&)>& is_private)
      : is_private_(is_private) {}

  // What is stored in a branch or loop may not have been stored behind it.
  StmtPtr Apply(const StmtPtr& stmt, bool is_certain) {
    if (stmt == nullptr) return nullptr;
    Stmt result = *stmt;
    Match(
        result.node,
        [&](Block& block) {
          for (StmtPtr& child : block.statements) child = Apply(child, is_certain);
        },
        [&](Declare& declare) {
          if (declare.value != nullptr) declare.value = Apply(declare.value);
        },
        [&](Assign& assign) { assign.value = Apply(assign.value); },
        [&](Store& store) {
          store.index = Apply(store.index);
          store.value = Apply(store.value);
          if (is_certain) Note(store);
        },
        [&](For& loop) { loop.body = Apply(loop.body, false); },
        [&](If& branch) {
          branch.condition = Apply(branch.condition);
          branch.then = Apply(branch.then, false);
          branch.otherwise = Apply(branch.otherwise, false);
        },
        [](auto&) {});
    return std::make_shared<const Stmt>(std::move(result));
  }

 private:
  void Note(const Store& store) {
    const bool is_kept = std::holds_alternative<Variable>(store.value->node) &&
                         store.value->type.element == store.stored;
    if (is_kept && is_private_(store.buffer)) stores_[store.buffer].push_back(store);
  }

  ExprPtr Apply(const ExprPtr& expr) {
    Expr result = *expr;
    Match(
        result.node, [](IntLiteral&) {}, [](FloatLiteral&) {}, [](Variable&) {},
        [&](Load& load) { load.index = Apply(load.index); },
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
    if (const auto* load = std::get_if<Load>(&result.node)) {
      for (const Store& store : stores_[load->buffer]) {
        if (store.value->type == expr->type && Equal(store.index, load->index)) return store.value;
      }
    }
    return std::make_shared<const Expr>(std::move(result));
  }

  const std::function<bool(const std::string&)>& is_private_;
  std::unordered_map<std::string, std::vector<Store>> stores_;
};

}  // namespace

StmtPtr ForwardStores(const StmtPtr& stmt,
                      const std::function<bool(const std::string& buffer)>& is_private) {
  return Forwarder(is_private).Apply(stmt, true);
}

}  // namespace tartan::loop
