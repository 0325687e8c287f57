// SPDX-License-Identifier: Apache-2.0
// A row chain under construction (chain_groups.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tile/graph/fusion_log.h"
#include "tile/graph/rows/row_layout.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/row_block.h"

namespace tartan::graph {

// Reasons for separate launches.
inline constexpr char kNoRowWork[] =
    "only reductions along rows and elementwise kernels share a launch, and this one is a matmul "
    "or a window";
inline constexpr char kNoBatchedMatmul[] =
    "only batched matmuls join such a launch, and an operand of this one is the same for all rows";
inline constexpr char kSeveralResults[] = "a reduction has several results per row";
inline constexpr char kOtherOrder[] = "the kernels store rows in different orders";
inline constexpr char kOtherRows[] = "the consumer reads other rows of the producer";
inline constexpr char kOtherFactors[] =
    "the matmul has factors from elsewhere, and reads a single element per row";
inline constexpr char kRunsBetween[] = "a kernel outside the launch runs between them";

struct Growing {
  bool has_planes = false;
  bool accepts_matmuls = false;
  bool may_be_long = false;        // see RowChain::has_long_rows
  bool has_column_blocks = false;  // which are row axes of its matmuls
  Layout layout = Layout::kNone;
  std::map<int, std::vector<int>> axes = {};        // per group: the output index of each row axis
  std::map<int, poly::FlatContraction> split = {};  // kernels of the chain with split indices
  std::vector<int64_t> rows = {};
  std::map<ir::ValueId, poly::RowTensor> written = {};  // results of the chain's kernels
  std::set<int> after = {};  // groups outside the chain that depend on it
  // Why two groups (producer, consumer) do not share the chain.
  std::map<std::pair<int, int>, std::string> refused = {};

  std::set<int> Groups() const;
  // Returns whether one of the groups is in the chain, or depends on it from outside.
  bool HasAnyOf(const std::set<int>& groups) const;
  bool IsBefore(const std::set<int>& groups) const;
  // Removes the last group, whose kernel is given.
  void RemoveLast(const poly::FlatContraction& kernel);
  // Records why `group` does not share a chain with any of its `producers` in the chain.
  void Refuse(const std::set<int>& producers, int group, const std::string& reason);
};

// Adds the refusals of a chain to the log.
void LogRefused(const ir::Program& program, const ir::Grouping& grouping, const Growing& growing,
                FusionLog* log);

}  // namespace tartan::graph
