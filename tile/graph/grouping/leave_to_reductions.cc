// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/leave_to_reductions.h"

#include <algorithm>

namespace tartan::graph {

using ir::ValueId;

std::vector<ValueId> LeaveToReductions(
    const ir::Program& program, const poly::ProgramSpaces& spaces, const std::vector<Kind>& kinds,
    const std::vector<std::vector<ValueId>>& users, const std::vector<bool>& is_output,
    std::vector<ValueId>* members, std::vector<ValueId>* regions) {
  const ValueId root = members->front();
  const auto is_outside = [&](ValueId v) { return (*regions)[v] != root; };
  const auto count = [&](ValueId v) { return program.values[v].shape.element_count(); };
  const auto is_reduction_of = [&](ValueId user, ValueId v) {
    return kinds[user] == Kind::kRoot && is_outside(user) && PointsOf(spaces[user]) <= count(v);
  };
  // Joined sums read a larger value that has this one and another (JoinSums).
  const auto is_joined = [&](ValueId user, ValueId v) {
    return kinds[user] == Kind::kPointwise && is_outside(user) && !is_output[user] &&
           count(user) > count(v) && users[user].size() == 1 &&
           is_reduction_of(users[user].front(), user);
  };
  const auto is_left = [&](ValueId v) {
    return !users[v].empty() && !is_output[v] && kinds[v] == Kind::kPointwise &&
           std::all_of(users[v].begin(), users[v].end(), [&](ValueId user) {
             return is_reduction_of(user, v) || is_joined(user, v);
           });
  };
  const auto is_stored = [&](ValueId v) {
    return is_outside(v) || std::any_of(users[v].begin(), users[v].end(), is_outside);
  };
  std::vector<ValueId> left;
  for (size_t m = members->size(); m-- > 1;) {
    const ValueId member = (*members)[m];
    const std::vector<ValueId> operands = ir::Operands(program.values[member].op);
    if (!is_left(member) || !std::all_of(operands.begin(), operands.end(), is_stored)) continue;
    (*regions)[member] = ir::kNoValue;
    members->erase(members->begin() + static_cast<std::ptrdiff_t>(m));
    left.push_back(member);
  }
  return left;
}

}  // namespace tartan::graph
