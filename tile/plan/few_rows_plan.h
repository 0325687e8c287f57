// SPDX-License-Identifier: Apache-2.0
// Plans of GEMMs of few rows by constant weights, for persistent megakernels. All weights of a
// work-group are on chip; its work-items divide columns and K, and add up partial sums in local
// memory. The two kinds differ in where the weights are, and for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Terms of a plan's cost, in microseconds.
struct FewRowsCost {
  double load_us = 0;       // load the weights; PersistentPlan: once per launch batch
  double gemm_us = 0;       // multiply, after weights and rows are loaded
  double microseconds = 0;  // per launch

  std::string ToString() const;
  bool operator==(const FewRowsCost&) const = default;
};

// The common part of both kinds of plan.
struct FewRowsPlan {
  int rows_access = 0, weights_access = 0;  // positions in flat.accesses
  std::vector<int> rows;                    // output indices that only the rows have
  int column = 0;                           // output index of the weights, within a work-group
  std::vector<int> reduced;                 // reduced indices, in the weights' order
  FewRowsCost cost;

  static constexpr int64_t kThreads = 256;  // work-items per work-group

  int64_t threads() const { return kThreads; }
  int64_t RowCount(const poly::FlatContraction& flat) const;
  int64_t ColumnCount(const poly::FlatContraction& flat) const;  // columns per work-group
  int64_t KSize(const poly::FlatContraction& flat) const;
  bool operator==(const FewRowsPlan&) const = default;
};

// The streamed-weight plan. Each work-group has one block of columns, and each compute unit at most
// one work-group. The group copies all weights of its block to local memory, and starts before the
// preceding launch ends (loop::Early).
struct RowStreamPlan : FewRowsPlan {
  int block = 0;       // output index of the weights: the block of columns
  int64_t vector = 1;  // columns per work-item at a time

  static constexpr int64_t kSlices = 8;  // partial sums per element added up last

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

// The persistent plan (weight-stationary kernel, persistent RNN). One work-group computes a
// recurrent step and keeps its weights in registers and local memory for a whole launch batch
// (loop::Once). A result that is the next launch's input stays in local memory.
struct PersistentPlan : FewRowsPlan {
  int64_t columns = 1;      // columns per work-item
  int64_t sharers = 1;      // work-items that divide K
  int64_t held = 0;         // vectors of weights in registers, per work-item
  int carried_output = -1;  // output that may be the next launch's rows; -1: none

  static constexpr int64_t kVector = 4;  // elements of a vector along K

  int64_t GroupCount(const poly::FlatContraction&) const { return 1; }
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
