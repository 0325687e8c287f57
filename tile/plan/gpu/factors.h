// SPDX-License-Identifier: Apache-2.0
// Recognizes kernels that sum the multiplied values of two tensors.
#pragma once

#include <optional>
#include <utility>

#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the accesses of the body's two factors, if the kernel is a float32 sum of two multiplied,
// unguarded reads of different float accesses. Empty for other kernels.
std::optional<std::pair<int, int>> FactorsOf(const poly::FlatContraction& flat);

// Returns the format in which a matrix unit may multiply: the one that the precision allows, or the
// 16-bit type in which both factors are stored, where nothing is lost.
std::optional<MatrixFormat> FormatFor(const poly::FlatContraction& flat, Precision precision);

}  // namespace tartan::plan
