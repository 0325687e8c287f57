// SPDX-License-Identifier: Apache-2.0
// Recognizes kernels that sum the multiplied values of two tensors.
#pragma once

#include <optional>
#include <utility>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the accesses of the body's two factors, if the kernel is a float32 sum of two multiplied,
// unguarded reads of different float accesses. Empty for other kernels.
std::optional<std::pair<int, int>> FactorsOf(const poly::FlatContraction& flat);

}  // namespace tartan::plan
