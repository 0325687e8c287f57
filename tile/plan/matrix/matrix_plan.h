// SPDX-License-Identifier: Apache-2.0
// The decision how a product runs on a GPU's matrix unit: a work-group computes a tile of rows and
// columns, walking the depth in steps; both operands' tiles are brought to local memory in the
// unit's format, accumulators are in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/base/matrix_tile.h"
#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// One factor: how a step's tile of it is brought to local memory.
struct MatrixOperand {
  int access = 0;  // of the kernel's accesses
  // In memory the elements of a tile's vector are neighbours, and it is loaded as one.
  bool loads_vectors = false;
  // Vectors lie along the rows of the tile (MatrixTile).
  bool along_rows = false;
  // Work-items side by side load neighbouring rows.
  bool spreads_rows = false;
  // What is in memory is copied as it is, while the unit works.
  bool is_copied = false;
  // The depth ends within a vector, whose other elements count as zeros and are not read.
  bool has_tail = false;
  // No launch of the program writes it: in a sequence of launches it is copied before those before
  // have ended.
  bool is_early = false;
  // It is rounded to tf32 in local memory then: the unit itself cuts bits off.
  bool is_rounded = false;
  // Those of the kernel's constraints that it reads as zero where they fail.
  std::vector<int> constraints;

  bool operator==(const MatrixOperand&) const = default;
};

// The terms of a plan's cost, in cycles of a compute unit for each step of its groups.
struct MatrixCost {
  double unit_cycles = 0;     // of the matrix unit
  double load_cycles = 0;     // of bytes through the second cache
  double latency_cycles = 0;  // of a step that waits for memory
  double resident = 1;        // work-groups on a compute unit
  double waves = 1;           // of work-groups
  double microseconds = 0;

  std::string ToString() const;
  bool operator==(const MatrixCost&) const = default;
};

struct MatrixPlan {
  MatrixFormat format = MatrixFormat::kTf32;
  // The indices of the product's rows and columns, of equal products side by side, and of the
  // depth. Each list counts as one number; the last index varies fastest.
  std::vector<int> rows, columns, batch, depth;
  MatrixOperand left, right;  // with the rows, and with the columns
  // That of FlatContraction::second_body with the columns: a tile has half of its columns for each.
  std::optional<MatrixOperand> second;
  int64_t row_tile = 0, column_tile = 0;
  int64_t warp_groups = 1;  // of 128 work-items, which divide the rows
  int64_t slices = 1;       // so many times these, each with a depth of its own in a step
  int64_t stages = 2;       // steps whose tiles are in local memory
  int64_t lanes = 1;        // columns that are stored as a vector
  // Stages of a chain: tiles of all steps are in local memory at one time; so many steps' tiles of
  // the left factor are there already, before those that come (0: none); results stay in registers,
  // where the unit leaves them.
  bool is_at_once = false;
  int64_t resident_steps = 0;
  bool holds_results = false;
  MatrixCost cost;

  static constexpr int64_t kWarpGroup = 128;
  static constexpr int64_t kUnitRows = 64;  // of a warp group's product

  int64_t threads() const { return warp_groups * slices * kWarpGroup; }
  // Products of 64 rows that a warp group makes.
  int64_t blocks() const { return row_tile / (warp_groups * kUnitRows); }
  // Accumulators of a work-item.
  int64_t accumulators() const { return blocks() * column_tile / 2; }
  bool copies_all() const {
    return (left.is_copied || resident_steps > 0) && right.is_copied &&
           (!second || second->is_copied);
  }
  // Columns of results that a tile has.
  int64_t result_columns() const { return second ? column_tile / 2 : column_tile; }
  MatrixTile left_tile() const { return {format, row_tile, left.along_rows}; }
  MatrixTile right_tile() const { return {format, result_columns(), right.along_rows}; }
  int64_t depth_tile() const { return left_tile().depth(); }
  int64_t step_depth() const { return slices * depth_tile(); }
  // Elements of the left factor's tiles that are there already.
  int64_t resident_size() const { return resident_steps * left_tile().size(); }
  // Elements of the tiles that come for a slice and for a step, of all tiles, and of a slice's
  // sums: these take the place of the tiles at the end.
  int64_t slice_size() const {
    return ((resident_steps > 0 ? 0 : row_tile) + column_tile) * depth_tile();
  }
  int64_t stage_size() const { return slices * slice_size(); }
  int64_t tiles_size() const;
  // From a row of sums to the next one. Rows that a warp stores at a time begin in different banks:
  // an odd multiple of 8.
  int64_t totals_stride() const { return column_tile + (column_tile % 16 == 0 ? 8 : 16); }
  int64_t totals_size() const { return row_tile * totals_stride(); }
  int64_t local_bytes() const;

  int64_t GroupCount(const poly::FlatContraction& flat) const;
  int64_t StepCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const MatrixPlan&) const = default;
};

// Returns whether something else than the product's factors is read for its results, other elements
// for other columns.
bool ReadsAlongColumns(const poly::FlatContraction& flat, const MatrixPlan& plan);

// How many parts of a size cover a count.
inline int64_t TilesOf(int64_t count, int64_t tile) { return (count + tile - 1) / tile; }

// The product of the indices' ranges.
int64_t CountOf(const poly::FlatContraction& flat, const std::vector<int>& indices);

}  // namespace tartan::plan
