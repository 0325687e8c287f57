// SPDX-License-Identifier: Apache-2.0
// Gradients of lazy tensors and of Tile functions. The derivative of an application is that of its
// Tile function, derived by tile/autodiff; nothing is computed here.
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
  // Gradients pass through numbers that are quantised (autodiff::GradientOptions).
  bool straight_through = false;
};

// A tensor with the derivative of the loss by it: the loss is the sum of `tensor` times `seed`.
struct SeededTensor {
  Tensor tensor;
  Tensor seed;  // of the tensor's shape and type; undefined: 1, for a tensor of one element
};

// The derivative of the loss by each of `wrt`, of its shape and type: lazy tensors that may be
// composed on and differentiated again. `wrt` are placeholders, constants (weights) or intermediate
// tensors; by one that the loss does not depend on it is 0. Of several paths from a tensor to the
// loss all count, also those through others of `wrt`.
//
// InvalidArgument for tensors that are no floats and for a loss of more or less than one element:
// reduce it, or give a seed. Unimplemented where tile/autodiff says so.
absl::StatusOr<std::vector<Tensor>> Gradient(const Tensor& loss, absl::Span<const Tensor> wrt,
                                             const GradientOptions& options = {});

// The same for a loss that is a sum over several tensors, each with its seed: backward from
// gradients that are given.
absl::StatusOr<std::vector<Tensor>> Gradient(absl::Span<const SeededTensor> losses,
                                             absl::Span<const Tensor> wrt,
                                             const GradientOptions& options = {});

// Of one tensor, whether outputs depend on it with a derivative.
struct GradientPath {
  bool depends = false;  // on any path
  bool exists = false;   // on one where every operation has a derivative
  // The names of the applications at which paths end, in their order: operations that are constant
  // between their steps, or have a result that is no float.
  std::vector<std::string> ends;
};

// For each of `wrt`, without computing anything. Errors are those of binding functions.
absl::StatusOr<std::vector<GradientPath>> FindGradientPaths(absl::Span<const Tensor> outputs,
                                                            absl::Span<const Tensor> wrt,
                                                            const GradientOptions& options = {});

// `value` repeated to a shape of a float type. With 1 a seed: the loss is then the sum of all
// elements.
absl::StatusOr<Tensor> Filled(const TensorShape& shape, double value);

struct FunctionGradientOptions {
  Ties ties = Ties::kShare;
  std::vector<std::string> of;  // names of the outputs that take part; empty: all floats
  // False: the loss is the sum of all elements of these outputs. True: the result takes one more
  // input for each of them, of its shape, named after it with "_seed", and the loss is the sum of
  // outputs times seeds.
  bool seeded = false;
};

// A function of the same inputs as `function` (then the seeds) with one output for every name in
// `wrt`: the derivative of the loss by that input, of its shape and type, named after it with
// "_grad". It is bound to the sizes in `shapes`, which has all inputs. InvalidArgument for names
// the function does not have, inputs that are no floats, and shapes that do not fit, with the
// position in the text.
//
//   // function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }
//   GradientFunction(matmul, {{"A", {kFloat32, {2, 3}}}, {"B", {kFloat32, {3, 4}}}}, {"A"});
//   // function (A, B) -> (A_grad) { … }
absl::StatusOr<Function> GradientFunction(const Function& function, const NamedShapes& shapes,
                                          absl::Span<const std::string> wrt,
                                          const FunctionGradientOptions& options = {});

}  // namespace tartan::api
