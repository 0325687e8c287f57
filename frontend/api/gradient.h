// SPDX-License-Identifier: Apache-2.0
// Gradients of lazy tensors and of Tile functions. tile/autodiff differentiates the Tile function
// of each application; the result is again lazy.
//
//   // x: float32[32, 784], w: float32[784, 10], loss: float32[]
//   TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> gradients, Gradient(loss, {x, w}));
//   // gradients[1]: float32[784, 10], d loss / d w
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor.h"
#include "tile/autodiff/gradient.h"

namespace tartan::api {

using autodiff::Ties;

struct GradientOptions {
  Ties ties = Ties::kShare;
  // Gradients pass unchanged through quantisation (autodiff::GradientOptions).
  bool straight_through = false;
};

// A tensor and the derivative of the loss by it: the loss is the sum of `tensor` times `seed`.
struct SeededTensor {
  Tensor tensor;
  Tensor seed;  // same shape and type as `tensor`; undefined: 1, for a one-element tensor
};

// Returns the derivative of the loss by each of `wrt`, of its shape and type. The results are lazy
// tensors that can be used and differentiated again. `wrt` may contain placeholders, constants
// (weights) and intermediate tensors. The derivative is 0 if the loss does not depend on the
// tensor. All paths from a tensor to the loss count, also paths through other tensors of `wrt`.
//
// InvalidArgument for non-float tensors and for a loss with more or fewer than one element: reduce
// it, or give a seed. Unimplemented where tile/autodiff is.
absl::StatusOr<std::vector<Tensor>> Gradient(const Tensor& loss, absl::Span<const Tensor> wrt,
                                             const GradientOptions& options = {});

// The same for a loss that is a sum over several tensors, each with its seed: the backward pass
// from given gradients.
absl::StatusOr<std::vector<Tensor>> Gradient(absl::Span<const SeededTensor> losses,
                                             absl::Span<const Tensor> wrt,
                                             const GradientOptions& options = {});

// The dependency of outputs on one tensor.
struct GradientPath {
  bool depends = false;  // some path exists
  bool exists = false;   // some path has a derivative at every operation
  // Names of the applications where differentiable paths end, in graph order: piecewise constant
  // operations and operations with a non-float result.
  std::vector<std::string> ends;
};

// One GradientPath for each of `wrt`, without computing anything. Fails only if a function cannot
// be bound.
absl::StatusOr<std::vector<GradientPath>> FindGradientPaths(absl::Span<const Tensor> outputs,
                                                            absl::Span<const Tensor> wrt,
                                                            const GradientOptions& options = {});

struct FunctionGradientOptions {
  Ties ties = Ties::kShare;
  std::vector<std::string> of;  // names of the outputs in the loss; empty: all float outputs
  // False: the loss is the sum of all elements of these outputs. True: the loss is the sum of
  // outputs times seeds. The resulting function then takes one seed per output, of its shape, named
  // after it with "_seed".
  bool seeded = false;
};

// Returns a function of the inputs of `function` (then the seeds) with one output per name in
// `wrt`. The output is the derivative of the loss by that input, of its shape and type, named after
// it with "_grad". The function is bound to the sizes in `shapes`, which has all inputs.
// InvalidArgument for unknown names, non-float inputs and shapes that do not fit, with the position
// in the text.
//
//   // function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }
//   GradientFunction(matmul, {{"A", {kFloat32, {2, 3}}}, {"B", {kFloat32, {3, 4}}}}, {"A"});
//   // function (A, B) -> (A_grad) { … }
absl::StatusOr<Function> GradientFunction(const Function& function, const NamedShapes& shapes,
                                          absl::Span<const std::string> wrt,
                                          const FunctionGradientOptions& options = {});

}  // namespace tartan::api
