// SPDX-License-Identifier: Apache-2.0
// Which indices of a kernel may be the rows of a chain, and whether it is work for rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// The tensors that are read at computed coordinates.
std::set<int> ReadAnywhere(const poly::FlatContraction& flat);

// The row axis of each dimension of what a kernel writes; nothing where an axis is no dimension of
// its own.
std::optional<std::vector<int>> WrittenAxes(const poly::FlatContraction& flat,
                                            const std::vector<int>& axes);

// The output indices in front of those along which a window slides (batch and channels of a pool
// with channels first): at each of their values the kernel reads and writes a plane of its own.
// None where nothing slides.
std::vector<int> PlaneAxes(const poly::FlatContraction& flat);

// A pool, or its gradient: few points, and no product of two tensors, whose operands want to stay
// in registers.
bool IsWindow(const poly::FlatContraction& flat);

// A product of matrices for each value of some row axis: one of the rows with several columns, and
// nothing that is multiplied is the same for all rows.
bool IsBatchedProduct(const poly::FlatContraction& flat, const std::vector<int>& axes);

// Sets, per row axis, the output index at which a kernel reads it: `coords` are those of an access
// to a tensor whose dimensions `dim_axes` are rows. False where it reads another row, too.
bool FindRowsRead(const poly::FlatContraction& flat, const std::vector<math::Affine>& coords,
                  const std::vector<int>& dim_axes, const std::vector<int64_t>& rows,
                  std::vector<int>* axes);

// The same for the kernel whose results another one reads at `coords` of its output_dims, with the
// reader's rows.
bool FindRowsGiven(const poly::FlatContraction& given, const std::vector<math::Affine>& coords,
                   const std::vector<int>& reader_axes, const std::vector<int64_t>& rows,
                   std::vector<int>* axes);

// One of the kernel's results.
bool Stores(const poly::FlatContraction& flat, ir::ValueId value);

// Raises, for each value that holds a tensor's elements, the bytes that are touched for one row.
void AddRowBytes(const poly::FlatContraction& flat, const std::vector<int>& axes,
                 const std::vector<ir::ValueId>& storage, std::map<ir::ValueId, int64_t>* bytes);

// A reduction with several results for one row.
bool HasSeveralResults(const poly::FlatContraction& flat, const std::vector<int>& axes);

// A reduction that uses what it reads of a row more than once, like a product of matrices, is
// better off with tiles of its own.
bool ReducesRows(const poly::FlatContraction& flat, const std::vector<int>& axes,
                 int64_t little_work);

// A reduction that a chain may have: of planes only windows that slide over them, which are
// unrolled; elementwise kernels always.
bool IsRowWork(const poly::FlatContraction& flat, const std::vector<int>& axes, bool has_planes,
               int64_t little_work);

}  // namespace tartan::graph
