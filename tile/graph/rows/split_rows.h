// SPDX-License-Identifier: Apache-2.0
// Splits output indices of kernels so that all kernels of a chain have the same row axes. For
// example, one kernel counts heads where another counts groups of heads with common keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// Splits output indices of the kernel so that its accesses are affine in reshapes of their tensors.
// `dims(tensor)`: the dimensions of the reshape; null: unchanged. Returns nothing if no split is
// needed or none suffices.
std::optional<poly::FlatContraction> SplitForReshapes(
    const poly::FlatContraction& flat,
    const std::function<const std::vector<int64_t>*(int tensor)>& dims);

// Splits the output indices that a reader of the kernel's results accesses with several indices.
// `is_result`: whether a tensor of the reader is such a result. Returns nothing if no index is
// split.
std::optional<poly::FlatContraction> SplitForReader(
    const poly::FlatContraction& flat, const poly::FlatContraction& reader,
    const std::function<bool(int tensor)>& is_result);

// Splits the innermost output index (stride 1) into blocks of `size` columns; returns nothing if
// `size` does not divide its range.
std::optional<poly::FlatContraction> SplitColumns(const poly::FlatContraction& flat, int64_t size);

// Output indices of a kernel from SplitColumns without the columns; the block index is first.
std::vector<int> RowsOfColumns(const poly::FlatContraction& flat);

// Splits each output dimension whose coordinate combines several indices into one dimension per
// index, if every combination of index values is a distinct element.
void SplitOutputDims(poly::FlatContraction* flat);

// Output indices, ordered by the first output dimension that they appear in.
std::vector<int> OutputIndices(const poly::FlatContraction& flat);

}  // namespace tartan::graph
