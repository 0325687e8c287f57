// SPDX-License-Identifier: Apache-2.0
// Enumerates a contraction's valid index points by definition, and checks an index space against
// them. Shares no code with the analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

struct Problem {
  ir::Contraction contraction;
  std::vector<int64_t> output_dims;
  std::vector<std::vector<int64_t>> input_dims;

  std::string ToString() const;
};

// Returns whether the point is valid: integer indices in range for every tensor, and all
// constraints.
bool IsValid(const Problem& problem, const std::vector<int64_t>& point);

// Returns all valid points with indices in [-bound, bound]. Returns nothing for more than `limit`
// points, or if the search takes too long.
std::optional<std::set<std::vector<int64_t>>> ValidPoints(const Problem& problem, int64_t bound,
                                                          size_t limit);

// Returns whether sizes and constraints bound every index, from the rank of their polynomials.
bool IsBounded(const Problem& problem);

struct Comparison {
  std::string error;              // empty when all invariants of index_space.h hold
  bool complete = true;           // false when the space was too large to enumerate
  int64_t loose_bounds = 0;       // reduced ranges whose first or last value no valid point takes
  bool needlessly_empty = false;  // may_be_empty, though every element has a point
  int64_t points = 0;
};

// Compares an index space with `valid`, a result of ValidPoints.
Comparison Compare(const Problem& problem, const IndexSpace& space,
                   const std::set<std::vector<int64_t>>& valid, int64_t limit);

}  // namespace tartan::poly
