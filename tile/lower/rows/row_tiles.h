// SPDX-License-Identifier: Apache-2.0
// Results of a stage that are the left factor of a later product by a matrix unit: they go to its
// tiles.
#pragma once

#include <cstdint>
#include <functional>

#include "tile/base/matrix_tile.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Where `lanes` neighbours of "row" are in "tiles", which "lane" of the row's work-items has in an
// iteration. Together these have whole vectors of a tile's line.
loop::ExprPtr PlaceInTiles(const RowStages& stages, const MatrixTile& tile, int64_t lanes,
                           int64_t row_threads, const loop::ExprPtr& iteration);

// The expression for a matrix unit, which sees a few of its bits: quotients by what is the same for
// a row (`is_of_row`) are products with its reciprocal.
poly::ExprPtr WithReciprocals(const poly::ExprPtr& expr,
                              const std::function<bool(const poly::ExprPtr&)>& is_of_row);

}  // namespace tartan::lower
