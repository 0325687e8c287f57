// SPDX-License-Identifier: Apache-2.0
// Collects the conditions for an index point of a contraction to be valid.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"
#include "tile/math/affine.h"

namespace tartan::poly {

// Validity conditions over the contraction's own indices.
struct Conditions {
  std::vector<math::RangeConstraint> of_output;  // one per output dimension
  std::vector<math::RangeConstraint> of_values;  // of the inputs, and explicit constraints
  std::vector<int> order;                        // indices in order of first appearance
  bool never = false;                            // some size or range is 0
};

// Returns Internal if accesses and sizes do not match, ResourceExhausted for invalid polynomials.
absl::StatusOr<Conditions> GatherConditions(const ir::Contraction& contraction,
                                            absl::Span<const int64_t> output_dims,
                                            absl::Span<const std::vector<int64_t>> input_dims);

}  // namespace tartan::poly
