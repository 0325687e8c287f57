// SPDX-License-Identifier: Apache-2.0
// Differentiates one application of a Tile function, and says which derivatives exist. Internal to
// frontend/api.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tensor_node.h"
#include "tile/autodiff/gradient.h"

namespace tartan::api {

// `node` is an application. `gradients` are the derivatives of a loss by its results. Undefined
// ones are 0; not all are undefined. `wanted` selects inputs; one derivative is returned for each,
// in order. Uses from `options` the ties and the straight-through flag. Values that the application
// computes are reused, not recomputed.
absl::StatusOr<std::vector<Tensor>> PullBack(const std::shared_ptr<const TensorNode>& node,
                                             absl::Span<const Tensor> gradients,
                                             const std::vector<bool>& wanted,
                                             autodiff::GradientOptions options);

// True, by input and result of an application, if the result has a derivative by the input.
using NodeDerivatives = std::vector<std::vector<bool>>;

// Binds the function to the shapes of its inputs.
absl::StatusOr<NodeDerivatives> DerivativesOf(const ApplicationNode& application,
                                              const autodiff::GradientOptions& options);

// Returns true if the function's text has a stop_gradient or a custom_gradient. Then a result
// computed from an input may have no derivative by it.
bool StopsGradients(const lang::Function& function);

}  // namespace tartan::api
