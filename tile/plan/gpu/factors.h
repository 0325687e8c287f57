// SPDX-License-Identifier: Apache-2.0
// Kernels that sum products of two tensors.
#pragma once

#include <optional>
#include <utility>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The accesses of the two factors of the body: of a sum in float32 of products of two different
// reads of floats, none of them guarded. Nothing of other kernels.
std::optional<std::pair<int, int>> FactorsOf(const poly::FlatContraction& flat);

}  // namespace tartan::plan
