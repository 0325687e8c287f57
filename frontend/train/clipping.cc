// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/clipping.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

absl::StatusOr<api::Tensor> SumOfSquares(const std::vector<api::Tensor>& gradients) {
  api::Tensor sum;
  for (const api::Tensor& gradient : gradients) {
    TARTAN_ASSIGN_OR_RETURN(const api::Tensor squares,
                            api::Apply(absl::StrCat("function (G) -> (S) { Q = G * G; S[] = +(Q[",
                                                    Indices(gradient.rank()), "]); }"),
                                       {gradient}, "norm"));
    if (!sum.defined()) {
      sum = squares;
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(
        sum, api::Apply("function (A, B) -> (C) { C = A + B; }", {sum, squares}, "norm"));
  }
  return sum;
}

absl::StatusOr<api::Tensor> ClipFactor(const api::Tensor& squares, double norm,
                                       const api::Tensor& numbers) {
  return api::Apply(
      absl::StrFormat("function (S, H) -> (F) { E[] = +(H[3]); F = min(as_float(%.17g, 32) / "
                      "(E * sqrt(S) + as_float(1e-6, 32)), 1); }",
                      norm),
      {squares, numbers}, "clip");
}

absl::StatusOr<api::Tensor> ClipElements(const api::Tensor& gradient, double value) {
  return api::Apply(absl::StrFormat("function (G) -> (C) { C = min(max(G, -as_float(%.17g, 32)), "
                                    "as_float(%.17g, 32)); }",
                                    value, value),
                    {gradient}, "clip");
}

}  // namespace tartan::train
