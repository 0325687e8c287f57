// SPDX-License-Identifier: Apache-2.0
// Divides output indices of kernels, so that those of a chain see its rows alike: what one kernel
// counts as heads another has as groups of heads that read the same keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// The kernel with output indices divided in two where that makes affine functions of the
// coordinates that accesses have in reshapes of their tensors, to dims(tensor); null: as they are.
// Nothing where no index need be divided, or no division does it.
std::optional<poly::FlatContraction> SplitForReshapes(
    const poly::FlatContraction& flat,
    const std::function<const std::vector<int64_t>*(int tensor)>& dims);

// The kernel with the output indices divided that another kernel has in several parts where it
// reads the results; `is_result` tells of the reader's tensors. Nothing where there are none.
std::optional<poly::FlatContraction> SplitForReader(
    const poly::FlatContraction& flat, const poly::FlatContraction& reader,
    const std::function<bool(int tensor)>& is_result);

// The kernel with the output index along which it writes neighbours divided in blocks of `size`
// columns; nothing where `size` does not divide it.
std::optional<poly::FlatContraction> SplitColumns(const poly::FlatContraction& flat, int64_t size);

// The output indices of such a kernel without those of columns: the one of blocks first.
std::vector<int> RowsOfColumns(const poly::FlatContraction& flat);

// Each dimension of flat.output_dims whose coordinate is made of several indices becomes one for
// each of them, where every combination of them is another element.
void SplitOutputDims(poly::FlatContraction* flat);

// The output indices in the order of the dimensions that follow them.
std::vector<int> OutputIndices(const poly::FlatContraction& flat);

}  // namespace tartan::graph
