// SPDX-License-Identifier: Apache-2.0
// Kernels that run one after the other on the same rows: each is cut into blocks of rows, and what
// only they read is kept for one block instead of for all rows.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// A tensor of which one block of rows is kept at a time.
struct RowTensor {
  ir::ValueId value = ir::kNoValue;  // that was in memory
  std::vector<int64_t> dims;         // with all rows
  std::vector<int> axes;  // per dimension: the row axis that is its coordinate, -1 for none
  // Elements in front of a block's and behind them that windows may reach, and whose values do not
  // matter.
  int64_t before = 0;
  int64_t after = 0;

  // With `block[a]` values of each row axis a.
  TensorShape Shape(DataType type, const std::vector<int64_t>& block) const;
};

// A kernel and which of its indices are the rows.
struct RowKernel {
  FlatContraction flat;
  std::vector<int> axes;  // per row axis: the output index that it is
  // Which tensors are kept for a block: positions among RowTensors, -1 for those in memory. Outputs
  // are one tensor, written in the form of flat.output_dims.
  std::vector<int> tensors;
  int output = -1;
};

// The values that kernels of a chain leave in memory, and whether a kernel reads some of them
// there.
std::set<ir::ValueId> ResultsInMemory(const std::vector<RowKernel>& kernels);
bool ReadsFromMemory(const RowKernel& kernel, const std::set<ir::ValueId>& values);

// Each sum gives one of several results of a row, as products of matrices do.
bool HasColumns(const RowKernel& kernel);

// The coordinates of an access in the form of a RowTensor; nothing where they are no affine
// functions or a row axis is not the kernel's own index.
std::optional<std::vector<math::Affine>> RowCoords(const FlatContraction& flat,
                                                   const TensorAccess& access,
                                                   const RowTensor& tensor,
                                                   const std::vector<int>& axes);

struct RowBlock {
  FlatContraction flat;  // after MergeIndices
  // Per row axis: the output index that says where the block begins, and which is the same for all
  // of it; -1 where a block has the whole axis. The kernel's own index goes on from there.
  std::vector<int> origins;
  // Per row axis: that index; -1 where a block has one row, or where indices were merged.
  std::vector<int> rows;
};

// Sets `before` and `after` of the tensors for what the kernels read of them, where row axes are
// their first dimensions.
void AddMargins(const std::vector<RowKernel>& kernels, std::vector<RowTensor>* tensors);

// The kernel for blocks of `block[a]` values of each row axis a, which are at least 1 and at most
// its range. With `keep_rows` rows are not merged with other indices.
RowBlock CutRows(const RowKernel& kernel, const std::vector<int64_t>& block,
                 const std::vector<RowTensor>& tensors, bool keep_rows = false);

}  // namespace tartan::poly
