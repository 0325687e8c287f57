// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/joined_states.h"

#include <algorithm>
#include <tuple>

#include "tile/graph/grouping/updates.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

std::vector<bool> NextValues(const ir::Program& program) {
  std::vector<bool> is_next(program.values.size(), false);
  for (const ValueId input : program.inputs) {
    const int next = std::get<ir::Input>(program.values[input].op).next;
    if (next >= 0) is_next[program.outputs[next]] = true;
  }
  return is_next;
}

bool HaveSameSizes(const ir::Program& program, ValueId a, ValueId b) {
  return program.values[a].shape.dims == program.values[b].shape.dims;
}

// Returns true if all values inlined into `reader` read the value element by element.
bool IsReadInPlace(const ir::Program& program, ValueId v, ValueId reader,
                   const std::vector<bool>& in_memory, bool is_in_place = true) {
  is_in_place = is_in_place && HaveSameSizes(program, v, reader) &&
                std::holds_alternative<ir::Elementwise>(program.values[reader].op);
  const std::vector<ValueId> operands = ir::Operands(program.values[reader].op);
  return std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
    if (operand == v) return is_in_place;
    return operand < v || in_memory[operand] ||
           IsReadInPlace(program, v, operand, in_memory, is_in_place);
  });
}

}  // namespace

void FuseUpdates(const ir::Program& program, const std::vector<bool>& is_free,
                 const std::vector<bool>& in_memory, std::vector<ValueId>* joined) {
  const size_t size = program.values.size();
  const std::vector<bool> is_next = NextValues(program);
  const std::vector<bool> is_update = FindUpdates(program);
  std::vector<bool> is_used(size, false);
  for (const ir::Value& value : program.values) {
    for (const ValueId operand : ir::Operands(value.op)) is_used[operand] = true;
  }
  // Next value whose kernel computes an intermediate value.
  std::vector<ValueId> maker(size, ir::kNoValue);
  const auto sink_of = [&](ValueId v) {
    while ((*joined)[v] != ir::kNoValue) v = (*joined)[v];
    return v;
  };
  for (size_t i = size; i-- > 0;) {
    const auto next = static_cast<ValueId>(i);
    if (!is_next[i] || is_used[i] || !is_free[i]) continue;
    std::vector<ValueId> open = {next};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      for (const ValueId operand : ir::Operands(program.values[v].op)) {
        if (!is_update[operand] || in_memory[operand] || !is_free[operand] ||
            !HaveSameSizes(program, operand, next)) {
          continue;
        }
        if (maker[operand] == ir::kNoValue) {
          maker[operand] = next;
          open.push_back(operand);
          continue;
        }
        const ValueId a = sink_of(maker[operand]);
        const ValueId b = sink_of(next);
        if (a != b) (*joined)[std::min(a, b)] = std::max(a, b);
      }
    }
  }
  for (size_t v = 0; v < size; ++v) {
    if ((*joined)[v] != ir::kNoValue) (*joined)[v] = sink_of((*joined)[v]);
  }
}

void FuseReadStates(const ir::Program& program, const std::vector<bool>& is_free,
                    const std::vector<bool>& in_memory, const std::vector<std::set<ValueId>>& sinks,
                    std::vector<ValueId>* joined) {
  const std::vector<bool> is_next = NextValues(program);
  for (size_t i = program.values.size(); i-- > 0;) {
    const auto v = static_cast<ValueId>(i);
    const bool may_join = is_next[i] && in_memory[i] && is_free[i];
    if (!may_join || (*joined)[i] != ir::kNoValue || sinks[i].size() != 1) continue;
    const ValueId sink = *sinks[i].begin();
    if (sink == v || !is_next[sink] || !in_memory[sink] || !is_free[sink] ||
        !HaveSameSizes(program, v, sink) || !IsReadInPlace(program, v, sink, in_memory)) {
      continue;
    }
    (*joined)[i] = (*joined)[sink] == ir::kNoValue ? sink : (*joined)[sink];
  }
}

std::vector<ValueId> LatestRoots(std::vector<ValueId> latest_root,
                                 const std::vector<ValueId>& joined) {
  for (size_t v = 0; v < joined.size(); ++v) {
    if (joined[v] == ir::kNoValue) continue;
    latest_root[joined[v]] = std::max(latest_root[joined[v]], latest_root[v]);
  }
  return latest_root;
}

bool KernelOrder::IsBefore(ValueId a, ValueId b) const {
  const auto place = [&](ValueId v) {
    return is_free[v] ? std::tuple(latest_root[v], 1, v) : std::tuple(v, 0, v);
  };
  return place(a) < place(b);
}

void FuseReadValues(const ir::Program& program, const KernelOrder& order,
                    const std::vector<bool>& in_memory, const std::vector<bool>& may_join,
                    const std::vector<std::set<ValueId>>& sinks, std::vector<ValueId>* joined) {
  constexpr int kMaxJoined = 3;  // per kernel; longer kernels take longer to compile
  const std::vector<bool>& is_free = order.is_free;
  std::vector<int> counts(program.values.size(), 0);
  for (size_t i = program.values.size(); i-- > 0;) {
    const auto v = static_cast<ValueId>(i);
    if (!may_join[i] || (*joined)[i] != ir::kNoValue || sinks[i].empty()) continue;
    const ValueId first =
        *std::min_element(sinks[i].begin(), sinks[i].end(),
                          [&](ValueId a, ValueId b) { return order.IsBefore(a, b); });
    if (!in_memory[first] || !is_free[first]) continue;
    const ValueId maker = (*joined)[first] == ir::kNoValue ? first : (*joined)[first];
    // A kernel cannot read other elements of a value that it writes, as they may not be written
    // yet.
    const bool is_ready = std::all_of(sinks[i].begin(), sinks[i].end(), [&](ValueId sink) {
      if (!is_free[sink]) return false;
      if (sink != first && sink != maker) return order.IsBefore(maker, sink);
      return IsReadInPlace(program, v, sink, in_memory);
    });
    if (!is_ready || counts[maker] == kMaxJoined) continue;
    (*joined)[i] = maker;
    ++counts[maker];
  }
}

}  // namespace tartan::graph
