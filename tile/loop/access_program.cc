// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/access_program.h"

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "tile/base/match.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

using Action = AccessAction;
using Node = AccessNode;

bool IsNumber(const Type& type) { return type.lanes == 1 && !IsFloat(type.element); }

class Resolver {
 public:
  Resolver(const Kernel& kernel, bool reports_stores, const std::vector<bool>& reports_loads)
      : reports_stores_(reports_stores), reports_loads_(reports_loads) {
    for (size_t p = 0; p < kernel.parameters.size(); ++p) {
      parameters_[kernel.parameters[p].name] = static_cast<int>(p);
    }
    for (const Size& size : kernel.sizes) SlotOf(size.name);
    if (kernel.body == nullptr) return;
    FindNeeded(*kernel.body);
    Resolve(kernel.body, &actions_);
  }

  AccessProgram Take() && { return {std::move(nodes_), std::move(actions_), slots_.size()}; }

 private:
  int SlotOf(const std::string& name) {
    return slots_.emplace(name, static_cast<int>(slots_.size())).first->second;
  }

  int ParameterOf(const std::string& name) const {
    const auto found = parameters_.find(name);
    return found == parameters_.end() ? -1 : found->second;
  }

  bool ReportsLoads(int parameter) const {
    return parameter >= 0 && parameter < static_cast<int>(reports_loads_.size()) &&
           reports_loads_[parameter];
  }

  // Finds the variables on which indices, conditions and bounds depend.
  void FindNeeded(const Stmt& stmt) {
    std::unordered_map<std::string, std::vector<const Expr*>> values;
    std::vector<const Expr*> open;
    Collect(stmt, &values, &open);
    while (!open.empty()) {
      const Expr* expr = open.back();
      open.pop_back();
      if (const auto* variable = std::get_if<Variable>(&expr->node)) {
        if (!needed_.insert(variable->name).second) continue;
        const std::vector<const Expr*>& assigned = values[variable->name];
        open.insert(open.end(), assigned.begin(), assigned.end());
      }
      ForEachChild(*expr, [&](const ExprPtr& child) { open.push_back(child.get()); });
    }
  }

  void Collect(const Stmt& stmt, std::unordered_map<std::string, std::vector<const Expr*>>* values,
               std::vector<const Expr*>* open) {
    if (const auto* declare = std::get_if<Declare>(&stmt.node)) {
      if (declare->value != nullptr) (*values)[declare->name].push_back(declare->value.get());
    } else if (const auto* assign = std::get_if<Assign>(&stmt.node)) {
      (*values)[assign->name].push_back(assign->value.get());
    } else if (const auto* store = std::get_if<Store>(&stmt.node)) {
      if (ParameterOf(store->buffer) >= 0) open->push_back(store->index.get());
    } else if (std::holds_alternative<For>(stmt.node) || std::holds_alternative<If>(stmt.node) ||
               std::holds_alternative<CopyVector>(stmt.node)) {
      ForEachChild(stmt, Overloaded{[&](const ExprPtr& expr) { open->push_back(expr.get()); },
                                    [](const StmtPtr&) {}});
    }
    ForEachChild(stmt, Overloaded{[&](const StmtPtr& child) { Collect(*child, values, open); },
                                  [&](const ExprPtr& expr) { CollectLoads(*expr, open); }});
  }

  void CollectLoads(const Expr& expr, std::vector<const Expr*>* open) {
    if (const auto* load = std::get_if<Load>(&expr.node)) {
      if (ReportsLoads(ParameterOf(load->buffer))) open->push_back(load->index.get());
    }
    if (const auto* select = std::get_if<Apply>(&expr.node)) {
      if (select->op == ScalarOp::kSelect && HasLoad(expr)) {
        open->push_back(select->operands[0].get());
      }
    }
    ForEachChild(expr, [&](const ExprPtr& child) { CollectLoads(*child, open); });
  }

  bool HasLoad(const Expr& expr) const {
    if (reports_loads_.empty()) return false;
    const auto* load = std::get_if<Load>(&expr.node);
    if (load != nullptr && ReportsLoads(ParameterOf(load->buffer))) return true;
    bool has_load = false;
    ForEachChild(expr, [&](const ExprPtr& child) { has_load = has_load || HasLoad(*child); });
    return has_load;
  }

  void Evaluate(const ExprPtr& expr, std::vector<Action>* actions) {
    if (!HasLoad(*expr)) return;
    actions->push_back({.kind = Action::Kind::kEvaluate, .first = NodeOf(expr)});
  }

  void ResolveValue(const std::string& name, const ExprPtr& value, std::vector<Action>* actions) {
    if (value == nullptr) return;
    if (!IsNumber(value->type) || needed_.count(name) == 0) return Evaluate(value, actions);
    actions->push_back(
        {.kind = Action::Kind::kAssign, .place = SlotOf(name), .first = NodeOf(value)});
  }

  void Resolve(const StmtPtr& stmt, std::vector<Action>* actions) {
    if (stmt == nullptr) return;
    Match(
        stmt->node,
        [&](const traverse::OneOf<Declare, Assign> auto& assign) {
          ResolveValue(assign.name, assign.value, actions);
        },
        [&](const Store& store) {
          Evaluate(store.value, actions);
          Evaluate(store.index, actions);
          const int parameter = ParameterOf(store.buffer);
          if (parameter < 0 || !reports_stores_) return;
          actions->push_back({.kind = Action::Kind::kStore,
                              .place = parameter,
                              .lanes = store.value->type.lanes,
                              .first = NodeOf(store.index)});
        },
        [&](const AtomicUpdate& update) {
          Evaluate(update.value, actions);
          const int parameter = ParameterOf(update.buffer);
          if (parameter < 0 || !reports_stores_) return;
          // An atomic update reads its element, so it does not define an element that was
          // undefined.
          actions->push_back({.kind = Action::Kind::kStore, .place = parameter, .first = -1});
        },
        [&](const For& loop) {
          Action action{.kind = Action::Kind::kLoop, .place = SlotOf(loop.name), .step = loop.step};
          Resolve(loop.body, &action.body);
          if (action.body.empty()) return;
          action.first = NodeOf(loop.begin);
          action.second = NodeOf(loop.end);
          actions->push_back(std::move(action));
        },
        [&](const If& branch) {
          Evaluate(branch.condition, actions);
          Action action{.kind = Action::Kind::kBranch};
          Resolve(branch.then, &action.body);
          Resolve(branch.otherwise, &action.otherwise);
          if (action.body.empty() && action.otherwise.empty()) return;
          action.first = NodeOf(branch.condition);
          actions->push_back(std::move(action));
        },
        [&](const CopyVector& copy) {
          if (!HasLoad(*copy.from)) return;
          const int from = NodeOf(copy.from);
          if (copy.count != nullptr) {
            const int count = NodeOf(copy.count);
            nodes_[from].children.push_back(count);
          }
          actions->push_back({.kind = Action::Kind::kEvaluate, .first = from});
        },
        [&](const traverse::OneOf<Early, Once, Fetch> auto& part) { Resolve(part.body, actions); },
        [&](const Block& block) {
          for (const StmtPtr& child : block.statements) Resolve(child, actions);
        },
        [](const traverse::OneOf<DeclareArray, Barrier, Prefetch, EndCopies, AwaitCopies,
                                 MultiplyTiles, AwaitTiles, Comment> auto&) {});
  }

  int NodeOf(const ExprPtr& expr) {
    Node node;
    node.lanes = expr->type.lanes;
    Match(
        expr->node,
        [&](const IntLiteral& literal) {
          node.kind = Node::Kind::kLiteral;
          node.value = literal.value;
        },
        [&](const Variable& variable) {
          if (!IsNumber(expr->type) || needed_.count(variable.name) == 0) return;
          node.kind = Node::Kind::kVariable;
          node.place = SlotOf(variable.name);
        },
        [&](const WorkIndex& work) {
          node.kind = Node::Kind::kWork;
          node.place = 3 * static_cast<int>(work.id) + work.dimension;
        },
        [&](const Load& load) {
          node.kind = Node::Kind::kLoad;
          const int parameter = ParameterOf(load.buffer);
          node.place = ReportsLoads(parameter) ? parameter : -1;
        },
        [&](const Apply& apply) {
          const Type& operand = apply.operands.back()->type;
          const bool is_select =
              apply.op == ScalarOp::kSelect && apply.operands.front()->type.lanes == 1;
          const bool is_number = IsNumber(expr->type) && IsNumber(operand);
          if (!is_number && !is_select) return;
          node.kind = Node::Kind::kApply;
          node.op = apply.op;
          node.type = operand.element;
          node.result = expr->type.element;
        },
        [](const traverse::OneOf<FloatLiteral, MultiplyAdd, Lane, Shuffle> auto&) {});
    ForEachChild(*expr, [&](const ExprPtr& child) { node.children.push_back(NodeOf(child)); });
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  const bool reports_stores_;
  const std::vector<bool>& reports_loads_;
  std::unordered_map<std::string, int> parameters_;
  std::unordered_map<std::string, int> slots_;
  std::set<std::string> needed_;
  std::vector<Node> nodes_;
  std::vector<Action> actions_;
};

}  // namespace

AccessProgram MakeAccessProgram(const Kernel& kernel, bool reports_stores,
                                const std::vector<bool>& reports_loads) {
  return Resolver(kernel, reports_stores, reports_loads).Take();
}

}  // namespace tartan::loop
