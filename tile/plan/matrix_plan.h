// SPDX-License-Identifier: Apache-2.0
// The tensor-core plan: a work-group computes a tile of rows by columns and iterates over K in
// steps. Tiles of both factors are loaded into local memory in the tensor core's format;
// accumulators are in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/base/mma_tile.h"
#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Describes how each step loads the tile of one factor into local memory.
struct MatrixOperand {
  int access = 0;  // position in flat.accesses
  // The elements of a tile's vector are contiguous in memory, and are loaded as a vector.
  bool loads_vectors = false;
  // Vectors are along the rows of the tile (MatrixTile) instead of along K.
  bool along_rows = false;
  // Adjacent work-items load adjacent rows.
  bool spreads_rows = false;
  // The tile is copied unchanged by asynchronous copies while the tensor core works.
  bool is_copied = false;
  // K, or the rows of vectors along rows, end within a vector. The elements beyond the end count as
  // zeros and are not read.
  bool has_tail = false;
  // No launch of the program writes the factor. In a megakernel its copies start before the
  // preceding launches have ended.
  bool is_early = false;
  // A copied tile is rounded to tf32 in local memory, because the tensor core truncates.
  bool is_rounded = false;
  // Constraints of the kernel, by number, outside of which the factor reads as zero.
  std::vector<int> constraints;

  bool operator==(const MatrixOperand&) const = default;
};

// Terms of the cost, in cycles of a compute unit per step of a work-group unless stated otherwise.
struct MatrixCost {
  double tensor_core_cycles = 0;  // tensor-core instructions
  double load_cycles = 0;         // bytes through L2
  double latency_cycles = 0;      // stall of a step that waits for memory
  double resident = 1;            // work-groups per compute unit
  double waves = 1;               // rounds in which the compute units run all work-groups
  double microseconds = 0;

  std::string ToString() const;
  bool operator==(const MatrixCost&) const = default;
};

struct MatrixPlan {
  MatrixFormat format = MatrixFormat::kTf32;
  // Indices of the GEMM's rows, columns, batch and K (reduced). Each list is one linearized index;
  // the last member varies fastest.
  std::vector<int> rows, columns, batch, reduced;
  MatrixOperand left, right;  // factor with the rows, factor with the columns
  // Factor with the columns of FlatContraction::second_body (dual GEMM). Each GEMM then has half of
  // the tile's columns.
  std::optional<MatrixOperand> second;
  int64_t row_tile = 0, column_tile = 0;
  int64_t warp_groups = 1;  // groups of 128 work-items that divide the rows
  int64_t slices = 1;       // K slices of a step, each with warp_groups of its own
  int64_t stages = 2;       // pipeline stages: steps whose tiles are in local memory
  int64_t lanes = 1;        // columns per vector store
  // Stages of fused row kernels only. is_at_once: tiles of all steps are in local memory at the
  // same time. resident_steps: number of steps whose left tiles an earlier stage left in local
  // memory; 0: none. holds_results: results stay in the accumulator registers.
  bool is_at_once = false;
  int64_t resident_steps = 0;
  bool holds_results = false;
  MatrixCost cost;

  static constexpr int64_t kWarpGroup = 128;  // work-items of a warp group
  static constexpr int64_t kUnitRows = 64;    // rows of one tensor-core instruction of a warp group

  int64_t threads() const { return warp_groups * slices * kWarpGroup; }
  // Blocks of 64 rows per warp group.
  int64_t blocks() const { return row_tile / (warp_groups * kUnitRows); }
  // Accumulators per work-item.
  int64_t accumulators() const { return blocks() * column_tile / 2; }
  bool copies_all() const {
    return (left.is_copied || resident_steps > 0) && right.is_copied &&
           (!second || second->is_copied);
  }
  // Columns of results per tile.
  int64_t result_columns() const { return second ? column_tile / 2 : column_tile; }
  MatrixTile left_tile() const { return {format, row_tile, left.along_rows}; }
  MatrixTile right_tile() const { return {format, result_columns(), right.along_rows}; }
  int64_t k_tile() const { return left_tile().depth(); }
  int64_t step_k() const { return slices * k_tile(); }
  // Elements of the left factor's tiles that are already in local memory.
  int64_t resident_size() const { return resident_steps * left_tile().size(); }
  // Elements of local memory: the tiles loaded per slice, per step, and all tiles. The sums of a
  // slice reuse the tiles' memory at the end.
  int64_t slice_size() const {
    return ((resident_steps > 0 ? 0 : row_tile) + column_tile) * k_tile();
  }
  int64_t stage_size() const { return slices * slice_size(); }
  int64_t tiles_size() const;
  // Elements from one row of sums to the next. An odd multiple of 8, so that rows stored together
  // by a warp start in different banks.
  int64_t totals_stride() const { return column_tile + (column_tile % 16 == 0 ? 8 : 16); }
  int64_t totals_size() const { return row_tile * totals_stride(); }
  int64_t local_bytes() const;

  // Pairs of adjacent columns per row and work-item, if results stay in registers.
  int64_t ResultPairs(const poly::FlatContraction& flat) const;
  int64_t GroupCount(const poly::FlatContraction& flat) const;
  int64_t StepCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const MatrixPlan&) const = default;
};

// Returns whether the epilogue reads a tensor, other than the factors, whose elements differ along
// the columns.
bool ReadsAlongColumns(const poly::FlatContraction& flat, const MatrixPlan& plan);

// Number of tiles that cover `count`.
inline int64_t TilesOf(int64_t count, int64_t tile) { return (count + tile - 1) / tile; }

// The ranges of the indices multiplied.
int64_t CountOf(const poly::FlatContraction& flat, const std::vector<int>& indices);

}  // namespace tartan::plan
