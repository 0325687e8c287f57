// SPDX-License-Identifier: Apache-2.0
// The decision how a step of a recurrent network runs as one work-group that keeps its weights, in
// registers and local memory, for all launches of a run (loop::Once): a persistent kernel. The
// work-items divide results and depth among themselves, and each multiplies with weights that it
// alone has; then sums meet in local memory, and results are made of them. A result that is the
// next launch's rows stays in local memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The terms of a plan's cost, in microseconds.
struct PersistentCost {
  double load_us = 0;       // of the weights, once
  double product_us = 0;    // of each launch
  double microseconds = 0;  // of a launch in a run, what it does after its product included

  std::string ToString() const;
  bool operator==(const PersistentCost&) const = default;
};

struct PersistentPlan {
  int rows_access = 0, weights_access = 0;  // of the kernel's accesses
  std::vector<int> rows;                    // output indices of the rows alone
  int column = 0;                           // the output index of the weights, beside joined sums
  int depth = 0;                            // the reduced index
  int64_t columns = 1;                      // whose sums a work-item has a share of
  int64_t sharers = 1;                      // work-items that divide the depth
  int64_t held = 0;                         // a work-item's vectors of weights in registers
  int handed_on = -1;  // the output that may be the rows of the next launch; -1: none
  PersistentCost cost;

  static constexpr int64_t kThreads = 256;
  static constexpr int64_t kVector = 4;  // elements of a vector, along the depth

  int64_t threads() const { return kThreads; }
  int64_t GroupCount(const poly::FlatContraction&) const { return 1; }
  int64_t RowCount(const poly::FlatContraction& flat) const;
  int64_t ColumnCount(const poly::FlatContraction& flat) const;
  int64_t Depth(const poly::FlatContraction& flat) const;
  // Work-items that share the depth have one of so many parts of the columns: those at this
  // distance.
  int64_t Parts(const poly::FlatContraction& flat) const;
  // A sharer's, whole vectors.
  int64_t OwnDepth(const poly::FlatContraction& flat) const;
  // A work-item's, in each row.
  int64_t OwnSums(const poly::FlatContraction& flat) const;
  // A work-item's vectors of weights, and those of them that lie in local memory.
  int64_t Vectors(const poly::FlatContraction& flat) const;
  int64_t LocalVectors(const poly::FlatContraction& flat) const;
  // Elements of local memory: weights, rows, partial sums.
  int64_t WeightsSize(const poly::FlatContraction& flat) const;
  int64_t RowsSize(const poly::FlatContraction& flat) const;
  int64_t PartialsSize(const poly::FlatContraction& flat) const;
  int64_t LocalBytes(const poly::FlatContraction& flat) const;

  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const PersistentPlan&) const = default;
};

}  // namespace tartan::plan
