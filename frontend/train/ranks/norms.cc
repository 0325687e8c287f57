// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/norms.h"

#include "frontend/api/function.h"

namespace tartan::train {

using api::Tensor;

absl::StatusOr<Tensor> NormsOf(const Tensor& squares, const Tensor& finite) {
  return api::Apply(
      "function (S, OK) -> (R) { B = OK ? as_float(0, 32) : as_float(1, 32); "
      "PS[i : 2] = +(S[]), i < 1; PB[i + 1 : 2] = +(B[]), i < 1; R = PS + PB; }",
      {squares, finite}, "norms");
}

absl::StatusOr<Tensor> SquaresOf(const Tensor& norms) {
  return api::Apply("function (N) -> (S) { S[] = +(N[0]); }", {norms}, "squares");
}

absl::StatusOr<Tensor> FiniteOf(const Tensor& norms) {
  return api::Apply("function (N) -> (OK) { B[] = +(N[1]); OK = B == 0; }", {norms}, "finite");
}

}  // namespace tartan::train
