// SPDX-License-Identifier: Apache-2.0
// How a chain of kernels over the same rows is divided on devices whose work-items are lanes
// (GPUs): work-groups have a block of rows each, the work-items of a row walk it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/online/online_rows.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// A value that the work-items of a row have in registers: a vector of each of their iterations.
struct HeldValue {
  DataType type = DataType::kFloat32;
  int lanes = 1;
  int64_t iterations = 0;  // 0: one element, the same in all work-items of the row
  // The stage whose result it is; or, fetched before the first stage, what an access of it reads.
  int stage = 0;
  bool is_fetched = false;
  int access = -1;
  bool operator==(const HeldValue&) const = default;
};

// One kernel of the chain for one block. The elements of a row are numbered by the kernel's other
// indices, reduced or not; work-item t of a row has `lanes` neighbours from t * lanes on, and so on
// in strides of all work-items of the row.
struct RowGroupStage {
  poly::RowBlock block;
  std::vector<int> inner;           // those indices, the last varies fastest
  int lanes = 1;                    // along the last
  std::vector<int> held_reads;      // per access: which of the held values it reads; -1: memory
  int held_result = -1;             // which of the held values the stage makes; -1: none
  bool stores = true;               // the result goes into a buffer or an array of the block
  bool is_read_from_memory = true;  // by later stages
  // Of a product of matrices (poly::HasColumns): how the group computes its part of the block, with
  // as many work-items as the chain has. Its tiles are whole along all but the rows' origins. A
  // matrix unit's has all of the block's rows in one tile, and the origins as its batch.
  std::optional<std::variant<GpuPlan, MatrixPlan>> product;
  // Where its results are the left factor of a later product by a matrix unit: the tiles that they
  // go to, those of all steps one after the other, with zeros behind the elements of a row.
  std::optional<MatrixTile> result_tile;
  int64_t result_steps = 0;
  // Accesses of the product that the work-items read into registers before the first stage.
  std::vector<int> fetched = {};
  // What it is where rows are walked in blocks; elsewhere all are done once.
  poly::OnlineRole role = poly::OnlineRole::kBefore;
  // Its product by work-items, or by a matrix unit; null: the other, or no product.
  const GpuPlan* ByItems() const;
  const MatrixPlan* ByMatrixUnit() const;
  int64_t Elements() const;
  // Vectors that each of so many work-items has of a row, the last of them perhaps of none.
  int64_t Iterations(int64_t row_threads) const;
};

// Rows that are walked in blocks of their elements (poly::FindOnlineRows): the stages of a walk are
// those of a whole block.
struct OnlineWalk {
  int64_t keys = 0;   // elements of a row
  int64_t block = 0;  // of a block
  // All stages, those of the walk for what is left behind the last whole block; empty: nothing is.
  // Sums with columns have the work-items of a whole block's.
  std::vector<RowGroupStage> rest;

  int64_t Count() const { return keys / block; }  // of whole blocks
};

struct RowGroupPlan {
  std::vector<int64_t> rows;  // range of each row axis
  // Values of each row axis in a block: several of the last at most. Where they do not divide it,
  // the last block is drawn back over its neighbour.
  std::vector<int64_t> block;
  int64_t row_threads = 1;  // work-items of a row, a power of two
  bool rows_first = false;  // neighbouring work-items are of neighbouring rows
  // Rows of a work-item. 2: row_threads is 4, and work-items have what a matrix unit leaves in
  // their accumulators: of a warp's 16 rows one of the first eight, and the eighth behind it.
  int64_t item_rows = 1;
  std::vector<RowGroupStage> stages;
  std::vector<HeldValue> held;
  // Of each tensor that is kept for a block, the one whose array it lies in (ShareArrays); empty:
  // each has its own.
  std::vector<int> arrays;
  std::optional<OnlineWalk> walk;
  double predicted_us = 0;  // of chains with products; 0: not estimated

  int64_t BlockRows() const { return block.empty() ? 1 : block.back(); }
  int64_t Threads() const { return row_threads * BlockRows() / item_rows; }
  int64_t GroupCount() const;
  // Elements of the tiles that the products of a matrix unit have in local memory, one after the
  // other, in one format.
  int64_t TilesSize() const;
  // Words of a work-item's held values and of the accumulators of a matrix unit.
  int64_t HeldWords() const;
  // How often the group does the stage, with whole blocks where rows are walked.
  int64_t Turns(size_t stage) const;
  // The stage stores what it makes, of whole blocks or of what is left.
  bool Stores(size_t stage) const;
  // Neither does without the other between two turns of a walk.
  bool AreDoneTogether(size_t stage, size_t other) const;
  // Returns whether what a stage writes may lie over what it reads at the same place: each element
  // is written once, and work-items that do not write it need nothing that is read there.
  bool WritesOnce(size_t stage) const;
  std::string ToString() const;  // one line for the blocks and one for each stage
};

}  // namespace tartan::plan
