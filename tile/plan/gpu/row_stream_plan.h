// SPDX-License-Identifier: Apache-2.0
// The decision how a product of few rows by a constant matrix runs as a part of a GPU's sequence of
// launches: a work-group for each block of columns, of which there is at most one to a compute
// unit. The block's weights come to local memory all at once, and begin to while the group waits
// for the launch before (loop::Early); then the work-items divide its vectors and the depth among
// themselves, and add up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The terms of a plan's cost, in microseconds.
struct RowStreamCost {
  double load_us = 0;     // of the weights, from memory
  double compute_us = 0;  // once they and the rows are there
  double microseconds = 0;

  std::string ToString() const;
  bool operator==(const RowStreamCost&) const = default;
};

struct RowStreamPlan {
  int rows_access = 0, weights_access = 0;  // of the kernel's accesses
  std::vector<int> rows;                    // output indices of the rows alone
  int block = 0, column = 0;                // of the weights: of blocks, and within one
  std::vector<int> depth;                   // reduced indices, as the weights have them
  int64_t vector = 1;                       // columns that a work-item takes at once
  RowStreamCost cost;

  static constexpr int64_t kThreads = 256;
  static constexpr int64_t kSlices = 8;  // partial sums of an element that are left for the end

  int64_t threads() const { return kThreads; }
  int64_t RowCount(const poly::FlatContraction& flat) const;
  int64_t Depth(const poly::FlatContraction& flat) const;
  int64_t ColumnCount(const poly::FlatContraction& flat) const;  // of a block
  // Work-items that share a vector of columns; others do nothing.
  int64_t Sharers(const poly::FlatContraction& flat) const;
  // Elements of local memory: the block of weights, the rows, the sharers' sums, those of slices.
  int64_t WeightsSize(const poly::FlatContraction& flat) const;
  int64_t RowsSize(const poly::FlatContraction& flat) const;
  int64_t PartialsSize(const poly::FlatContraction& flat) const;
  int64_t SlicesSize(const poly::FlatContraction& flat) const;
  int64_t LocalBytes(const poly::FlatContraction& flat) const;

  int64_t GroupCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const RowStreamPlan&) const = default;
};

}  // namespace tartan::plan
