// SPDX-License-Identifier: Apache-2.0
// Runs a Tile function and its gradients as the command line requests.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/model.h"

namespace tartan::cli {

// The inputs of the function, with open sizes named as in the header. `types` are texts
// "NAME=float64"; other types stay open. InvalidArgument for unknown names and types.
absl::StatusOr<std::vector<api::TensorSpec>> InputsOf(const api::Function& function,
                                                      const std::vector<std::string>& types);

// InvalidArgument, naming both inputs, if two sizes of one name differ. InvalidArgument also if a
// size differs from the number in the header.
absl::Status CheckSizes(const std::vector<api::TensorSpec>& inputs, const api::NamedShapes& shapes);

struct GradientRequest {
  std::vector<std::string> by;  // names of inputs; "all": every float input
  std::vector<std::string> of;  // names of outputs; empty: every float output
  api::Ties ties = api::Ties::kShare;
};

struct AppliedFunction {
  std::vector<api::NamedTensor> inputs;   // placeholders
  std::vector<api::NamedTensor> outputs;  // the function's, then the gradients as "grad(X)"
};

// Applies the function to placeholders of the inputs' shapes, and takes the gradients of the sum of
// all elements of the selected outputs. Scalar integers are bound by value, because they may be
// sizes. Errors carry their stage.
absl::StatusOr<AppliedFunction> ApplyWithGradients(const api::Function& function,
                                                   const api::NamedTensors& inputs,
                                                   const GradientRequest& request);

}  // namespace tartan::cli
