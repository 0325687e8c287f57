// SPDX-License-Identifier: Apache-2.0
// A Tile function and its gradients as asked for on the command line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/model.h"

namespace tartan::cli {

// The inputs of the function: sizes open, under their names in the header. `types` are texts
// "NAME=float64"; a type that is not among them is open. InvalidArgument for unknown names and
// types.
absl::StatusOr<std::vector<api::TensorSpec>> InputsOf(const api::Function& function,
                                                      const std::vector<std::string>& types);

// InvalidArgument, naming both inputs, where two sizes of one name differ or a size is not the
// number in the header.
absl::Status CheckSizes(const std::vector<api::TensorSpec>& inputs, const api::NamedShapes& shapes);

struct GradientRequest {
  std::vector<std::string> by;  // names of inputs; "all" stands for every float one
  std::vector<std::string> of;  // names of outputs; empty: every float one
  api::Ties ties = api::Ties::kShare;
};

struct AppliedFunction {
  std::vector<api::NamedTensor> inputs;   // placeholders
  std::vector<api::NamedTensor> outputs;  // the function's, then the gradients as "grad(X)"
};

// The function applied to placeholders of the inputs' shapes, and the gradients of the sum of all
// elements of the outputs that take part. Scalar integers may serve as sizes: the function is bound
// with their values then. Errors carry their stage.
absl::StatusOr<AppliedFunction> ApplyWithGradients(const api::Function& function,
                                                   const api::NamedTensors& inputs,
                                                   const GradientRequest& request);

}  // namespace tartan::cli
