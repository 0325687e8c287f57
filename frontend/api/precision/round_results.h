// SPDX-License-Identifier: Apache-2.0
// Mixed precision: results passed between applications are rounded to 16 bits; each application
// computes in float32. Gradients taken afterwards are rounded at the same places, by the chain
// rule.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Returns `tensor`, of float32 or a 16-bit float, with each element rounded to a value of `type`
// (kFloat16 or kBFloat16). The result has the tensor's own type.
absl::StatusOr<Tensor> Rounded(const Tensor& tensor, DataType type);

// Returns the same tensors, computed from placeholders and `given`, with intermediate results
// rounded. Float values are then stored in memory as `type` and accumulated in float32. Not rounded
// are:
// - `given` and their inputs, placeholders, tensors that depend on no placeholder, float64, and
//   one-element tensors;
// - results of reductions (means, variances, sums of squares), of roots, powers, exponentials and
//   logarithms, and squares;
// - elementwise work on these, up to the next matmul, convolution, or operation that reduces but
//   keeps the number of elements (softmax, a normalisation). Such an operation computes in float32
//   and its result is rounded.
absl::StatusOr<std::vector<Tensor>> RoundResults(absl::Span<const Tensor> tensors, DataType type,
                                                 absl::Span<const Tensor> given = {});

}  // namespace tartan::api
