// SPDX-License-Identifier: Apache-2.0
// The streamed-weight plan: a GEMM of few rows by constant weights within a persistent megakernel.
// Each work-group has one block of columns, and each compute unit at most one work-group. The group
// copies all weights of its block to local memory, and starts before the preceding launch ends
// (loop::Early). Its work-items then divide the block's vectors of columns and K, and add up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Terms of a plan's cost, in microseconds.
struct RowStreamCost {
  double load_us = 0;     // load the weights from memory
  double compute_us = 0;  // compute after weights and rows are loaded
  double microseconds = 0;

  std::string ToString() const;
  bool operator==(const RowStreamCost&) const = default;
};

struct RowStreamPlan {
  int rows_access = 0, weights_access = 0;  // positions in flat.accesses
  std::vector<int> rows;                    // output indices that only the rows have
  int block = 0, column = 0;                // output indices of the weights: block, column in it
  std::vector<int> reduced;                 // reduced indices, in the weights' order
  int64_t vector = 1;                       // columns per work-item at a time
  RowStreamCost cost;

  static constexpr int64_t kThreads = 256;  // work-items per work-group
  static constexpr int64_t kSlices = 8;     // partial sums per element added up last

  int64_t threads() const { return kThreads; }
  int64_t RowCount(const poly::FlatContraction& flat) const;
  int64_t KSize(const poly::FlatContraction& flat) const;
  int64_t ColumnCount(const poly::FlatContraction& flat) const;  // columns per block
  // Work-items that share a vector of columns and divide K; remaining work-items are idle.
  int64_t Sharers(const poly::FlatContraction& flat) const;
  // Elements of local memory: the weights of a block, the rows, partial sums of sharers, partial
  // sums of slices.
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
