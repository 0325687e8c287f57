// SPDX-License-Identifier: Apache-2.0
// Row fusion: cuts the kernels of a chain into blocks of rows, so that intermediates are kept for
// one block instead of all rows.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// An intermediate tensor that is kept for one block of rows.
struct RowTensor {
  ir::ValueId value = ir::kNoValue;  // the value that it replaces in memory
  std::vector<int64_t> dims;         // dimensions with all rows
  std::vector<int> axes;             // per dimension: its row axis, or -1
  // Padding elements before and after a block's elements, which windows may read and whose values
  // do not matter.
  int64_t before = 0;
  int64_t after = 0;

  // Returns the shape for blocks of `block[a]` rows of each row axis a.
  TensorShape Shape(DataType type, const std::vector<int64_t>& block) const;
};

// A kernel and its row indices.
struct RowKernel {
  FlatContraction flat;
  std::vector<int> axes;  // per row axis: its output index
  // Per tensor: its position among the RowTensors, or -1 if it is in memory. `output`: the
  // RowTensor of the single output, in the shape flat.output_dims, or -1.
  std::vector<int> tensors;
  int output = -1;
};

// ResultsInMemory returns the values that the chain's kernels store in memory. ReadsFromMemory
// returns whether a kernel reads some of `values` from memory.
std::set<ir::ValueId> ResultsInMemory(const std::vector<RowKernel>& kernels);
bool ReadsFromMemory(const RowKernel& kernel, const std::set<ir::ValueId>& values);

// Returns true for reductions with several results per row, such as matmuls.
bool HasColumns(const RowKernel& kernel);

// Returns the coordinates of an access in the shape of a RowTensor; nothing if they are not affine
// or a row axis is not the kernel's own row index.
std::optional<std::vector<math::Affine>> RowCoords(const FlatContraction& flat,
                                                   const TensorAccess& access,
                                                   const RowTensor& tensor,
                                                   const std::vector<int>& axes);

struct RowBlock {
  FlatContraction flat;  // with merged indices (MergeIndices)
  // Per row axis: the output index of the block's first row, which is constant in a block; -1 if
  // the block has the whole axis.
  std::vector<int> origins;
  // Per row axis: the index of the row within the block; -1 if a block has one row or the index was
  // merged.
  std::vector<int> rows;
};

// Sets `before` and `after` of tensors whose first dimensions are the row axes, from the kernels'
// reads.
void AddMargins(const std::vector<RowKernel>& kernels, std::vector<RowTensor>* tensors);

// Cuts the kernel into blocks of `block[a]` rows of each row axis a, from 1 to the range of the
// axis. With `keep_rows`, row indices are not merged with others.
RowBlock CutRows(const RowKernel& kernel, const std::vector<int64_t>& block,
                 const std::vector<RowTensor>& tensors, bool keep_rows = false);

}  // namespace tartan::poly
