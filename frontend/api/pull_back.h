// SPDX-License-Identifier: Apache-2.0
// The derivative of one application of a Tile function, and which derivatives it has. Internal to
// frontend/api.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tensor_node.h"
#include "tile/autodiff/gradient.h"

namespace tartan::api {

// `node` is an application. `gradients` are the derivatives of a loss by its results, undefined for
// 0 (at least one is not); `wanted` says by which inputs the derivative is asked for: one tensor
// each, in order. Of `options` the ties, and whether gradients pass straight through. What the
// application has computed is read again, not computed again.
absl::StatusOr<std::vector<Tensor>> PullBack(const std::shared_ptr<const TensorNode>& node,
                                             absl::Span<const Tensor> gradients,
                                             const std::vector<bool>& wanted,
                                             autodiff::GradientOptions options);

// Which results of an application have derivatives by which of its inputs: by input and result.
using NodeDerivatives = std::vector<std::vector<bool>>;

// Binds the function to the shapes of its inputs.
absl::StatusOr<NodeDerivatives> DerivativesOf(const ApplicationNode& application,
                                              const autodiff::GradientOptions& options);

// Whether the function stops derivatives by a stop_gradient in its text: then a result may have no
// derivative by an input though it is computed from it.
bool StopsGradients(const lang::Function& function);

}  // namespace tartan::api
