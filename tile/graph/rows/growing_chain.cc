// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/growing_chain.h"

#include <algorithm>
#include <iterator>

namespace tartan::graph {

std::set<int> Growing::Groups() const {
  std::set<int> groups;
  for (const auto& [group, group_axes] : axes) groups.insert(group);
  return groups;
}

bool Growing::HasAnyOf(const std::set<int>& groups) const {
  return std::any_of(groups.begin(), groups.end(),
                     [&](int group) { return axes.count(group) > 0; });
}

bool Growing::IsBefore(const std::set<int>& groups) const {
  return std::any_of(groups.begin(), groups.end(),
                     [&](int group) { return after.count(group) > 0; });
}

void Growing::RemoveLast(const poly::FlatContraction& kernel) {
  for (const poly::Output& output : kernel.outputs) written.erase(output.value);
  axes.erase(std::prev(axes.end()));
}

void Growing::Refuse(const std::set<int>& producers, int group, const std::string& reason) {
  for (const int producer : producers) {
    if (axes.count(producer) > 0) refused[{producer, group}] = reason;
  }
}

void LogRefused(const ir::Program& program, const ir::Grouping& grouping, const Growing& growing,
                FusionLog* log) {
  const auto name = [&](int group) {
    return program.values[grouping.storage[grouping.groups[group].outputs.front()]].name;
  };
  for (const auto& [pair, reason] : growing.refused) {
    log->Add({.rule = growing.accepts_matmuls ? FusionRule::kAttention : FusionRule::kRowFusion,
              .producer = name(pair.first),
              .consumer = name(pair.second),
              .kernel = name(pair.second),
              .reason = reason});
  }
}

}  // namespace tartan::graph
