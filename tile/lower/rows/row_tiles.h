// SPDX-License-Identifier: Apache-2.0
// Stores the results of a stage as MMA tiles, if they are the left factor of a later matmul on
// tensor cores.
#pragma once

#include <cstdint>
#include <functional>

#include "tile/base/mma_tile.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// The offset in "tiles" of the `lanes` adjacent elements of row "row" that work-item "lane" has in
// an iteration. Together the work-items of a row write whole vectors of a tile's line.
loop::ExprPtr OffsetInTiles(const RowStages& stages, const MatrixTile& tile, int64_t lanes,
                            int64_t row_threads, const loop::ExprPtr& iteration);

// For results that tensor cores round to few bits: divisions by a value that is the same for the
// whole row (`is_of_row`) become multiplications by its reciprocal.
poly::ExprPtr WithReciprocals(const poly::ExprPtr& expr,
                              const std::function<bool(const poly::ExprPtr&)>& is_of_row);

}  // namespace tartan::lower
