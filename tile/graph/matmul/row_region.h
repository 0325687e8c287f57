// SPDX-License-Identifier: Apache-2.0
// Finds a large matmul whose result only a few operations on the same rows read, such as the logits
// of a cross entropy and their gradient.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Operations that can be computed for some rows at a time. A row is an element of one dimension of
// the first matmul's result, such as the batch.
struct RowRegion {
  static constexpr int kWhole =
      -1;  // in place of a dimension: all of the value belongs to each row

  // An operation of the region and the place of its rows.
  struct Member {
    int axis = kWhole;      // dimension of the result; kWhole: a sum over rows
    int variable = kWhole;  // of contractions: the index of the rows
  };

  ir::ValueId matmul = ir::kNoValue;      // the first one
  std::map<ir::ValueId, Member> members;  // with the first matmul
  // Members that are computed for rows, and again as a whole where others read them.
  std::set<ir::ValueId> recomputed;
  std::vector<ir::ValueId> rows;  // members with rows that other operations read
  std::vector<ir::ValueId> sums;  // sums over rows
  int64_t extent = 0;             // a divisor of it is a possible number of chunks
  ir::ValueId last_operand = 0;   // the last value that members read, without members

  // The dimension of a member's operand that has the rows; kWhole if none has.
  int AxisOf(const ir::Program& program, ir::ValueId member, size_t operand) const;
};

// Returns the first such region of a float matmul of `min_elements` elements or more. One factor
// must be the same for all rows. Each value of a quarter of its size, or more, is read by members
// alone. Another matmul reads one of them, and a reduction within each row is a member, as in
// softmax. No member depends on the results of others.
std::optional<RowRegion> FindRowRegion(const ir::Program& program, int64_t min_elements);

}  // namespace tartan::graph
