// SPDX-License-Identifier: Apache-2.0
// Converts a contraction to its iteration domain: merges constraints, reduces output polynomials to
// single variables, removes fractions and finds bounds. See ../README.md for the algorithms.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

// Returns the index space of a contraction.
//
// - The result covers its output. If every output polynomial is ±variable + constant with distinct
//   variables, each output index has the range of its dimension. Otherwise digits and constraints
//   ensure the coverage.
// - No index has range 1: single values are substituted, also in output coordinates.
// - A contraction without any valid point has a reduced index of range 0.
// - `no_defract` has no effect.
//
// Returns InvalidArgument for an index without bounds, ResourceExhausted if numbers exceed 60 bits.
absl::StatusOr<IndexSpace> AnalyzeContraction(const ir::Contraction& contraction,
                                              absl::Span<const int64_t> output_dims,
                                              absl::Span<const std::vector<int64_t>> input_dims);

}  // namespace tartan::poly
