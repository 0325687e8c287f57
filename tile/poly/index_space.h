// SPDX-License-Identifier: Apache-2.0
// The loops that compute a contraction: integer loop indices with fixed ranges that visit every
// valid index point exactly once, output indices first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/math/affine.h"

namespace tartan::poly {

// A loop index: 0 <= index < range.
struct Index {
  std::string name;
  int64_t range = 0;
  // Within the blocks of a split index: the range is a choice and no size of the program.
  bool is_lane = false;

  bool operator==(const Index&) const = default;
};

// Invariants, tested against enumeration:
//  - every polynomial below has integer coefficients over `indices`;
//  - the points of the first output_index_count ranges that satisfy `store_guard` are in
//    one-to-one correspondence, through `output_coords`, with the elements of the output that the
//    kernel writes: all of them if covers_output, else a subset that contains every element with
//    at least one valid point (the others must be filled beforehand);
//  - for such an output point, the points of the remaining ranges that satisfy `constraints`
//    correspond one-to-one, through `original`, with the valid index points of the contraction that
//    write that element.
struct IndexSpace {
  std::vector<Index> indices;  // output indices first, then the reduced ones
  int output_index_count = 0;
  std::vector<math::Affine> original;              // each index of the contraction over `indices`
  std::vector<math::Affine> output_coords;         // each output dimension over the output indices
  std::vector<math::RangeConstraint> store_guard;  // over output indices; rarely any
  // What the ranges do not imply. Those over output indices alone come first.
  std::vector<math::RangeConstraint> constraints;
  bool covers_output = true;
  // Some written output element may have no valid point (its value is then 0 or the default).
  bool may_be_empty = false;
};

// Several lines for dumps: ranges, the polynomials, guards and constraints.
std::string ToString(const IndexSpace& space);

}  // namespace tartan::poly
