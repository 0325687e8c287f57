// SPDX-License-Identifier: Apache-2.0
// The persistent plan (weight-stationary kernel, persistent RNN): one work-group computes a
// recurrent step and keeps its weights in registers and local memory for a whole launch batch
// (loop::Once). Work-items divide results and K; each multiplies with weights of its own, and the
// partial sums are added up in local memory. A result that is the next launch's input stays in
// local memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Terms of a plan's cost, in microseconds.
struct PersistentCost {
  double load_us = 0;       // load the weights, once per launch batch
  double gemm_us = 0;       // multiply, per launch
  double microseconds = 0;  // per launch, with everything after the multiplication

  std::string ToString() const;
  bool operator==(const PersistentCost&) const = default;
};

struct PersistentPlan {
  int rows_access = 0, weights_access = 0;  // positions in flat.accesses
  std::vector<int> rows;                    // output indices that only the rows have
  int column = 0;                           // output index of the weights, other than joined sums
  int reduced = 0;                          // the reduced index
  int64_t columns = 1;                      // columns per work-item
  int64_t sharers = 1;                      // work-items that divide K
  int64_t held = 0;                         // vectors of weights in registers, per work-item
  int carried_output = -1;                  // output that may be the next launch's rows; -1: none
  PersistentCost cost;

  static constexpr int64_t kThreads = 256;  // work-items of the work-group
  static constexpr int64_t kVector = 4;     // elements of a vector along K

  int64_t threads() const { return kThreads; }
  int64_t GroupCount(const poly::FlatContraction&) const { return 1; }
  int64_t RowCount(const poly::FlatContraction& flat) const;
  int64_t ColumnCount(const poly::FlatContraction& flat) const;
  int64_t KSize(const poly::FlatContraction& flat) const;
  // Number of parts of the columns. Work-items that share a part are this far from each other.
  int64_t Parts(const poly::FlatContraction& flat) const;
  // Values of K per sharer, a whole number of vectors.
  int64_t OwnK(const poly::FlatContraction& flat) const;
  // Sums per work-item and row.
  int64_t OwnSums(const poly::FlatContraction& flat) const;
  // Vectors of weights per work-item: all of them, and the ones in local memory.
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
