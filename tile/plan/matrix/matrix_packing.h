// SPDX-License-Identifier: Apache-2.0
// Repacking of GEMM factors into a tensor core's number format and order, by a kernel that runs
// first.
#pragma once

#include <vector>

#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the kernel that copies the elements of an access, with one dimension for each of
// `indices` in this order, rounded to the format. The copied tensor is its only tensor. Requires an
// element at every point of the indices' ranges.
poly::FlatContraction FactorCopy(const poly::FlatContraction& flat, int access,
                                 const std::vector<int>& indices, MatrixFormat format);

}  // namespace tartan::plan
