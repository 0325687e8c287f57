// SPDX-License-Identifier: Apache-2.0
// The row fusion plan of GPUs: a work-group has a block of rows, and the work-items of a row
// process it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tile/plan/gpu_plan.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/online/online_softmax.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// A value in the registers of a row's work-items: one vector per iteration.
struct RegisterValue {
  DataType type = DataType::kFloat32;
  int lanes = 1;
  // Vectors per work-item; 0: one element, equal in all work-items of the row.
  int64_t iterations = 0;
  // The stage that computes it. If is_prefetched, the stage whose `access` reads it from memory
  // before the first stage.
  int stage = 0;
  bool is_prefetched = false;
  int access = -1;
  bool operator==(const RegisterValue&) const = default;
};

// One kernel for one block. The elements of a row are numbered by the kernel's `inner` indices,
// reduced or not. Work-item t of a row has `lanes` elements from t * lanes on, and so on in strides
// of row_threads * lanes.
struct RowGroupStage {
  poly::RowBlock block;
  std::vector<int> inner;           // all indices except row axes; the last varies fastest
  int lanes = 1;                    // vector width along the last inner index
  std::vector<int> register_reads;  // per access: the held value that it reads; -1: memory
  int register_result = -1;         // held value that the stage computes; -1: none
  bool stores = true;               // the result is written to a buffer or block array
  bool is_read_from_memory = true;  // a later stage reads the result from there
  // The plan of a GEMM stage (poly::HasColumns), for all work-items of the group. Its tiles cover
  // all indices except the row origins. A tensor-core plan has all rows of the block in one tile,
  // and the origins as its batch.
  std::optional<std::variant<GpuPlan, MatrixPlan>> product;
  // If the result is the left factor of a later tensor-core GEMM: the tiles it is written to, for
  // all steps consecutively, with zeros after the last element of a row.
  std::optional<MatrixTile> result_tile;
  int64_t result_steps = 0;
  // Accesses of the GEMM that are prefetched into registers before the first stage.
  std::vector<int> fetched = {};
  // Role in online softmax; stages of other kernels run once, before any loop over keys.
  poly::OnlineRole role = poly::OnlineRole::kBefore;
  // The plan of a GEMM stage if it is of this kind, else null.
  const GpuPlan* ByWorkItems() const;
  const MatrixPlan* ByTensorCores() const;
  int64_t Elements() const;
  // Vectors per work-item if a row has `row_threads` work-items; the last may be empty.
  int64_t Iterations(int64_t row_threads) const;
};

// Online softmax: rows are processed in blocks of keys (poly::FindOnlineSoftmax).
// RowGroupPlan::stages are for whole blocks.
struct KeyBlockLoop {
  int64_t keys = 0;   // elements of a row
  int64_t block = 0;  // elements of a block
  // Stages of the ragged last block; empty: there is none. GEMM sums have the same work-items as in
  // whole blocks.
  std::vector<RowGroupStage> rest;

  int64_t Count() const { return keys / block; }  // whole blocks
};

struct RowGroupPlan {
  std::vector<int64_t> rows;  // range of each row axis
  // Values of each row axis in a block; only the last may exceed 1. If they do not divide its
  // range, the last block overlaps the one before it.
  std::vector<int64_t> block;
  int64_t row_threads = 1;  // work-items per row, a power of two
  bool rows_first = false;  // adjacent work-items have adjacent rows
  // Rows per work-item. With 2, row_threads is 4, and work-items have the elements of a tensor
  // core's accumulator layout: of a warp's 16 rows, row r < 8 and row r + 8.
  int64_t item_rows = 1;
  std::vector<RowGroupStage> stages;
  std::vector<RegisterValue> held;
  // Per tensor kept for a block, the tensor whose array it uses (ShareArrays); empty: each has its
  // own.
  std::vector<int> arrays;
  std::optional<KeyBlockLoop> walk;
  double predicted_us = 0;  // with GEMM stages only; 0: not estimated

  int64_t BlockRows() const { return block.empty() ? 1 : block.back(); }
  int64_t Threads() const { return row_threads * BlockRows() / item_rows; }
  int64_t GroupCount() const;
  // Elements of the tiles of tensor-core GEMMs in local memory, all of one format.
  int64_t TilesSize() const;
  // Words per work-item of held values and of accumulators of tensor cores.
  int64_t RegisterWords() const;
  // Number of times a work-group executes a stage; with online softmax, for whole blocks.
  int64_t ExecutionCount(size_t stage) const;
  // Returns whether the stage stores its result, for whole blocks or the ragged last one.
  bool Stores(size_t stage) const;
  // Returns whether two stages run in the same loop over keys, or both outside of it.
  bool RunInSameLoop(size_t stage, size_t other) const;
  // Returns whether a stage may write its result over an input at the same position. Requires that
  // each element is written once, and that work-items that do not write it need no input there.
  bool WritesEachElementOnce(size_t stage) const;
  std::string ToString() const;  // one line for the blocks and one per stage
  std::string CostText() const;  // a line to append: the predicted time, or empty if not estimated
};

}  // namespace tartan::plan
