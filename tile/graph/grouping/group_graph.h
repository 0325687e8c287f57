// SPDX-License-Identifier: Apache-2.0
// Dependence graph of the kernels (groups) of a program.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::graph {

class GroupGraph {
 public:
  GroupGraph(const ir::Program& program, const ir::Grouping& grouping);

  int group_count() const { return static_cast<int>(computed_.size()); }
  // The values that the group computes, including those that it does not store.
  const std::set<ir::ValueId>& computed(int group) const { return computed_[group]; }
  // The groups whose results this group reads.
  const std::set<int>& producers(int group) const { return producers_[group]; }
  // The groups that read this group's results.
  const std::set<int>& consumers(int group) const { return consumers_[group]; }

 private:
  void Visit(const ir::Program& program, const ir::Grouping& grouping, int group,
             ir::ValueId value);

  std::vector<int> group_of_;  // group that stores the value; -1: none
  std::vector<std::set<ir::ValueId>> computed_;
  std::vector<std::set<int>> producers_;
  std::vector<std::set<int>> consumers_;
};

}  // namespace tartan::graph
