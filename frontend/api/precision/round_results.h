// SPDX-License-Identifier: Apache-2.0
// Mixed precision: what applications give each other is rounded to 16 bits, what they compute is
// not. Gradients taken afterwards are rounded at the same places, by the chain rule.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// `tensor`, of float32 or a 16-bit float, with its elements rounded to numbers that `type`
// (kFloat16 or kBFloat16) has; of its own type.
absl::StatusOr<Tensor> Rounded(const Tensor& tensor, DataType type);

// The same tensors, computed from placeholders and from `given` with results rounded on the way:
// float values lie in memory as `type` then, and are added up in float32. Not rounded are
// - `given` and what they are made of, placeholders and what depends on none, float64, and values
// of one element;
// - results that are reductions of what they are made of (means, variances, sums of squares), that
//   end in a root, a power, an exponential or a logarithm, or are squares;
// - elementwise work on those, up to the next product of matrices or convolution, or operation that
//   reduces and gives as many elements as it takes (softmax, a normalisation): within it all is
//   float32, and what it gives is rounded.
absl::StatusOr<std::vector<Tensor>> RoundResults(absl::Span<const Tensor> tensors, DataType type,
                                                 absl::Span<const Tensor> given = {});

}  // namespace tartan::api
