// SPDX-License-Identifier: Apache-2.0
// From a contraction as written to the loops that compute it. This is where constraints are
// gathered and merged, output polynomials reduced to single variables, fractions removed and bounds
// found. See README.md for the algorithms.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"
#include "tile/poly/index_space.h"

namespace tartan::poly {

// Where every output polynomial is ±variable + constant with distinct variables, the output index
// of a dimension ranges over the whole dimension, so padding and concatenation cover their output;
// in other cases digits and constraints see to it (the result always covers its output). No index
// has range 1: single values are put into the polynomials, of output dimensions too. A contraction
// without any valid point has a reduced index of range 0. `no_defract` makes no difference.
// InvalidArgument for an index without bounds; ResourceExhausted where numbers leave 60 bits.
absl::StatusOr<IndexSpace> AnalyzeContraction(const ir::Contraction& contraction,
                                              absl::Span<const int64_t> output_dims,
                                              absl::Span<const std::vector<int64_t>> input_dims);

}  // namespace tartan::poly
