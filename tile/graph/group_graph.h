// SPDX-License-Identifier: Apache-2.0
// How the kernels of a program hang together: what each computes by itself and which others it
// waits for.
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
  // The values that the group computes, those not stored among them.
  const std::set<ir::ValueId>& computed(int group) const { return computed_[group]; }
  // The groups whose results the group reads.
  const std::set<int>& producers(int group) const { return producers_[group]; }
  // The groups that read what the group stores.
  const std::set<int>& consumers(int group) const { return consumers_[group]; }

 private:
  void Visit(const ir::Program& program, const ir::Grouping& grouping, int group,
             ir::ValueId value);

  std::vector<int> group_of_;  // that stores a value; -1
  std::vector<std::set<ir::ValueId>> computed_;
  std::vector<std::set<int>> producers_;
  std::vector<std::set<int>> consumers_;
};

}  // namespace tartan::graph
