// SPDX-License-Identifier: Apache-2.0
// Queries about kernels for row chains: which indices can be row axes, and whether a kernel fits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// Returns the tensors that are read at computed coordinates (gathers).
std::set<int> GatheredTensors(const poly::FlatContraction& flat);

// Returns the row axis of each output dimension (-1: none); nothing if a row axis is not exactly
// one dimension.
std::optional<std::vector<int>> WrittenAxes(const poly::FlatContraction& flat,
                                            const std::vector<int>& axes);

// Returns the output indices before the first sliding-window index, such as batch and channels of a
// channels-first pool. For each of their values, the kernel reads and writes one plane. Empty if no
// window slides.
std::vector<int> PlaneAxes(const poly::FlatContraction& flat);

// Returns true for pooling and its gradient: a small window that can be unrolled, without
// multiplying two tensors (such operands should stay in registers).
bool IsWindow(const poly::FlatContraction& flat);

// Returns true for a batched matmul over the row axes: it has several columns per row, and every
// operand varies along some row axis.
bool IsBatchedMatmul(const poly::FlatContraction& flat, const std::vector<int>& axes);

// Returns true if all operands of the body vary along a common row axis. A projection by head has
// none: activations vary along the batch, and weights along the heads.
bool ShareRowAxis(const poly::FlatContraction& flat, const std::vector<int>& axes);

// Returns true if the kernel reads some of the tensors, and of each a single element per row.
bool ReadsSingleElements(const poly::FlatContraction& flat, const std::vector<int>& axes,
                         const std::function<bool(int tensor)>& is_one);

// Sets, per row axis, the output index by which the kernel reads it. `coords`: coordinates of an
// access to a tensor whose dimensions have the row axes `dim_axes`. Returns false if the kernel
// also reads other rows.
bool FindRowsRead(const poly::FlatContraction& flat, const std::vector<math::Affine>& coords,
                  const std::vector<int>& dim_axes, const std::vector<int64_t>& rows,
                  std::vector<int>* axes);

// Sets, per row axis, the output index of kernel `given` whose results a reader accesses at
// `coords` with the row indices `reader_axes`. Returns false if the reader also accesses other
// rows.
bool FindRowsGiven(const poly::FlatContraction& given, const std::vector<math::Affine>& coords,
                   const std::vector<int>& reader_axes, const std::vector<int64_t>& rows,
                   std::vector<int>* axes);

// Returns true if the value is an output of the kernel.
bool Stores(const poly::FlatContraction& flat, ir::ValueId value);

// Adds, per owner of memory, the bytes that the kernel accesses for one row.
void AddRowBytes(const poly::FlatContraction& flat, const std::vector<int>& axes,
                 const std::vector<ir::ValueId>& storage, std::map<ir::ValueId, int64_t>* bytes);

int64_t Total(const std::map<ir::ValueId, int64_t>& bytes);

// Returns true for a reduction with several results per row.
bool HasSeveralResults(const poly::FlatContraction& flat, const std::vector<int>& axes);

// Returns true for a reduction that reads most elements of a row only once. Reductions with more
// reuse, such as matmuls, are better off with their own tiles.
bool ReducesRows(const poly::FlatContraction& flat, const std::vector<int>& axes,
                 int64_t little_work);

// Returns true for kernels that a chain may contain: elementwise kernels, and reductions along
// rows. With planes, the only reductions are pooling windows, which are unrolled.
bool IsRowWork(const poly::FlatContraction& flat, const std::vector<int>& axes, bool has_planes,
               int64_t little_work);

}  // namespace tartan::graph
