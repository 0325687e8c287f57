// SPDX-License-Identifier: Apache-2.0
// Differentiates a loop: another loop from the last iteration to the first. Internal to
// frontend/api.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/pull_back.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tensor_node.h"

namespace tartan::api {

// The derivatives of the sum of `tensors` times `seeds` by each of `wrt`.
using Differentiate = std::function<absl::StatusOr<std::vector<Tensor>>(
    absl::Span<const Tensor> tensors, absl::Span<const Tensor> seeds,
    absl::Span<const Tensor> wrt)>;

// As PullBack (pull_back.h), for a node that is a loop. The forward loop also stacks the values of
// its body that the backward loop reads (LoopNode::shorter), so nothing is computed twice.
absl::StatusOr<std::vector<Tensor>> PullBackLoop(const std::shared_ptr<const TensorNode>& node,
                                                 absl::Span<const Tensor> gradients,
                                                 const std::vector<bool>& wanted,
                                                 const Differentiate& differentiate);

// All float results may have derivatives by all inputs.
NodeDerivatives DerivativesOfLoop(const TensorNode& node);

}  // namespace tartan::api
