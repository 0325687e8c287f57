// SPDX-License-Identifier: Apache-2.0
// Factors of products in the format of a matrix unit, ahead of the products.
#pragma once

#include <vector>

#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The copy of what an access reads, with a dimension for each of `indices` in this order, rounded
// to the format. Its only tensor is the one that is read. Requires: for every point of the indices'
// ranges there is an element.
poly::FlatContraction FactorCopy(const poly::FlatContraction& flat, int access,
                                 const std::vector<int>& indices, MatrixFormat format);

}  // namespace tartan::plan
