// SPDX-License-Identifier: Apache-2.0
// Which results of an application have derivatives by which of its inputs. Internal to
// frontend/api.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor_node.h"
#include "tile/autodiff/gradient_options.h"

namespace tartan::api {

// By input and result.
using NodeDerivatives = std::vector<std::vector<bool>>;

// Binds the function to the shapes of its inputs.
absl::StatusOr<NodeDerivatives> DerivativesOf(const ApplicationNode& application,
                                              const autodiff::GradientOptions& options);

// Whether the function stops derivatives by a stop_gradient in its text: then a result may have no
// derivative by an input though it is computed from it.
bool StopsGradients(const lang::Function& function);

}  // namespace tartan::api
