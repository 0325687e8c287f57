// SPDX-License-Identifier: Apache-2.0
// The iteration domain of a contraction: loop indices with fixed ranges that visit every valid
// index point exactly once, output indices first.
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
  // Position within the block of a split index: the range is a choice of the plan, not a size of
  // the program.
  bool is_lane = false;

  bool operator==(const Index&) const = default;
};

// Invariants, tested against enumeration:
//
// - Every affine function below has integer coefficients over `indices`.
// - Output points are the points of the first output_index_count ranges that satisfy `store_guard`.
//   `output_coords` maps them one-to-one to the output elements that the kernel writes. These are
//   all elements if covers_output, else a subset that contains every element with a valid point
//   (the others must be filled first).
// - The reduced points of an output point are the points of the remaining ranges that satisfy
//   `constraints`. `original` maps them one-to-one to the contraction's valid index points that
//   write the element.
struct IndexSpace {
  std::vector<Index> indices;  // output indices first, then the reduced ones
  int output_index_count = 0;
  std::vector<math::Affine> original;              // each index of the contraction over `indices`
  std::vector<math::Affine> output_coords;         // each output dimension over the output indices
  std::vector<math::RangeConstraint> store_guard;  // over output indices; usually empty
  // Constraints that the ranges do not imply; constraints on output indices only come first.
  std::vector<math::RangeConstraint> constraints;
  bool covers_output = true;
  // Some written output element may have no valid point, and then is 0 or the default value.
  bool may_be_empty = false;
};

// Multi-line text for dumps: ranges, affine functions, guards and constraints.
std::string ToString(const IndexSpace& space);

}  // namespace tartan::poly
