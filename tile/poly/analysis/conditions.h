// SPDX-License-Identifier: Apache-2.0
// When an index point of a contraction is valid, as one list.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"
#include "tile/math/affine.h"

namespace tartan::poly {

// A contraction's validity over its own indices.
struct Conditions {
  std::vector<math::RangeConstraint> of_output;  // one per output dimension
  std::vector<math::RangeConstraint> of_values;  // of the inputs and those written
  std::vector<int> order;                        // the indices in the order they are met
  bool never = false;                            // some size or range is 0
};

// Internal error where accesses and sizes do not fit; ResourceExhausted for invalid polynomials.
absl::StatusOr<Conditions> GatherConditions(const ir::Contraction& contraction,
                                            absl::Span<const int64_t> output_dims,
                                            absl::Span<const std::vector<int64_t>> input_dims);

}  // namespace tartan::poly
