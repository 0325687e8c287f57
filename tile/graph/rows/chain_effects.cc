// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/chain_effects.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tile/graph/grouping/group_graph.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Returns true for operations that take many instructions per element.
bool IsCostly(const ir::Value& value) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
  if (elementwise == nullptr) return false;
  switch (elementwise->op) {
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kSigmoid:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kPow:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
      return true;
    case ScalarOp::kDiv:
      return IsFloat(value.shape.type);
    default:
      return false;
  }
}

}  // namespace

bool CreatesCycle(const GroupGraph& graph, const std::set<int>& groups,
                  const std::vector<ChainGroups>& chains) {
  std::map<int, const ChainGroups*> chain_of;
  for (const ChainGroups& chain : chains) {
    for (int group : chain) chain_of[group] = &chain;
  }
  std::set<int> reached;
  std::vector<int> open;
  const auto reach = [&](int group) {
    if (reached.insert(group).second) open.push_back(group);
  };
  // Visits the consumers of a group, each with its whole chain, because a launch waits for all its
  // inputs.
  const auto expand = [&](int group) {
    for (int consumer : graph.consumers(group)) {
      if (groups.count(consumer) > 0) continue;
      reach(consumer);
      const auto chain = chain_of.find(consumer);
      if (chain == chain_of.end()) continue;
      for (int other : *chain->second) reach(other);
    }
  };
  for (int group : groups) expand(group);
  while (!open.empty()) {
    const int group = open.back();
    open.pop_back();
    for (int consumer : graph.consumers(group)) {
      if (groups.count(consumer) > 0) return true;
    }
    expand(group);
  }
  return false;
}

bool FeedsDirectly(const GroupGraph& graph, int group, const std::set<int>& chain) {
  std::set<int> reached;
  std::vector<int> open;
  bool feeds = false;
  for (int consumer : graph.consumers(group)) {
    if (chain.count(consumer) > 0) {
      feeds = true;
    } else if (reached.insert(consumer).second) {
      open.push_back(consumer);
    }
  }
  if (!feeds) return false;
  while (!open.empty()) {
    const int between = open.back();
    open.pop_back();
    for (int consumer : graph.consumers(between)) {
      if (chain.count(consumer) > 0) return false;
      if (reached.insert(consumer).second) open.push_back(consumer);
    }
  }
  return true;
}

std::vector<int> OrderWithRowChains(const ir::Program& program, const ir::Grouping& grouping,
                                    const std::vector<ChainGroups>& chains) {
  const GroupGraph graph(program, grouping);
  std::vector<std::vector<int>> together(grouping.groups.size());
  for (int g = 0; g < graph.group_count(); ++g) together[g] = {g};
  for (const ChainGroups& chain : chains) {
    for (int group : chain) together[group] = chain;
  }
  std::vector<int> order;
  std::vector<bool> placed(grouping.groups.size(), false);
  const std::function<void(int)> place = [&](int group) {
    if (placed[group]) return;
    for (int member : together[group]) placed[member] = true;
    for (int member : together[group]) {
      for (int producer : graph.producers(member)) place(producer);
    }
    order.insert(order.end(), together[group].begin(), together[group].end());
  };
  // A chain waits for its last group, whose operands may be computed late.
  for (int g = 0; g < graph.group_count(); ++g) {
    if (g == *std::max_element(together[g].begin(), together[g].end())) place(g);
  }
  return order;
}

std::vector<ValueId> RepeatedInChains(const ir::Program& program, const ir::Grouping& grouping,
                                      const std::vector<ChainGroups>& chains) {
  const GroupGraph graph(program, grouping);
  std::vector<bool> is_costly(program.values.size(), false);  // the value or an inlined operand
  for (size_t v = 0; v < program.values.size(); ++v) {
    is_costly[v] = IsCostly(program.values[v]);
    if (grouping.in_memory[v]) continue;
    for (ValueId operand : ir::Operands(program.values[v].op)) {
      if (!grouping.in_memory[operand] && is_costly[operand]) is_costly[v] = true;
    }
  }
  std::set<ValueId> repeated;
  for (const ChainGroups& chain : chains) {
    std::map<ValueId, int> kernels;
    for (int group : chain) {
      for (ValueId value : graph.computed(group)) ++kernels[value];
    }
    const auto is_repeated = [&](ValueId v) {
      const auto found = kernels.find(v);
      return found != kernels.end() && found->second > 1 && is_costly[v] &&
             std::holds_alternative<ir::Elementwise>(program.values[v].op);
    };
    // If a repeated value is an operand of another one, only the last is stored.
    std::set<ValueId> inner;
    for (const auto& [value, count] : kernels) {
      if (!is_repeated(value)) continue;
      for (ValueId operand : ir::Operands(program.values[value].op)) inner.insert(operand);
    }
    for (const auto& [value, count] : kernels) {
      if (is_repeated(value) && inner.count(value) == 0) repeated.insert(value);
    }
  }
  if (repeated.empty()) return {};
  // Values that several kernels of a chain already share stay stored, although inlining gets
  // cheaper.
  for (const ChainGroups& chain : chains) {
    const std::set<int> groups(chain.begin(), chain.end());
    for (int group : chain) {
      if (grouping.groups[group].root != ir::kNoValue) continue;
      int readers = 0;
      for (int consumer : graph.consumers(group)) readers += groups.count(consumer) > 0 ? 1 : 0;
      for (ValueId output : grouping.groups[group].outputs) {
        if (readers > 1 && IsCostly(program.values[output])) repeated.insert(output);
      }
    }
  }
  return {repeated.begin(), repeated.end()};
}

}  // namespace tartan::graph
