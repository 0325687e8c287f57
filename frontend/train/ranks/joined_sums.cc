// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/joined_sums.h"

#include "frontend/api/function.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

absl::StatusOr<api::Tensor> WeightOf(const LossTerms& terms) {
  return api::Apply("function (DEN) -> (W) { W[] = +(DEN[i]); }", {terms.denominator}, "weight");
}

absl::StatusOr<api::Tensor> WeightedSeed(const api::Tensor& seed, const api::Tensor& weight) {
  if (!seed.defined()) return weight;
  return api::Apply("function (S, W) -> (R) { R = S * W; }", {seed, weight}, "seed");
}

absl::StatusOr<api::Tensor> NextJoined(const api::Tensor& joined, const api::Tensor& healthy,
                                       const api::Tensor& weight, const api::Tensor& skipped) {
  return api::Apply(
      "function (J, OK, W, S) -> (R) { A = OK ? W : as_float(0, 32); "
      "B = S > 0 ? as_float(1, 32) : as_float(0, 32); C = as_float(S, 32); "
      "I = index(J, 0); R = I == 0 ? J + A : (I == 1 ? B : C); }",
      {joined, healthy, weight, skipped}, "joined");
}

absl::StatusOr<api::Tensor> AddToSum(const api::Tensor& sum, const api::Tensor& gradient,
                                     const api::Tensor& healthy, const api::Tensor& weight,
                                     absl::string_view name) {
  if (!sum.defined()) {
    return api::Apply("function (G, OK, W) -> (N) { N = OK ? G * W : as_float(0, 32); }",
                      {gradient, healthy, weight}, name);
  }
  if (!weight.defined()) {
    return api::Apply("function (S, G, OK) -> (N) { N = OK ? S + G : S; }",
                      {sum, gradient, healthy}, name);
  }
  return api::Apply("function (S, G, OK, W) -> (N) { N = OK ? S + G * W : S; }",
                    {sum, gradient, healthy, weight}, name);
}

absl::StatusOr<JoinedUpdate> ApplyJoined(const api::Tensor& skipped,
                                         std::vector<api::Tensor>* gradients) {
  JoinedUpdate update;
  update.joined = api::Tensor::Placeholder(kJoined, {DataType::kFloat32, {kJoinedCount}});
  TARTAN_ASSIGN_OR_RETURN(update.next_joined, api::Filled(update.joined.shape(), 0));
  TARTAN_ASSIGN_OR_RETURN(update.next_skipped,
                          api::Apply("function (J, S) -> (N) { B[] = +(J[1]); C[] = +(J[2]); "
                                     "N = B > 0 ? as_int(C / B + as_float(0.5, 32), 32) : S; }",
                                     {update.joined, skipped}, "skipped"));
  TARTAN_ASSIGN_OR_RETURN(
      update.healthy,
      api::Apply("function (J) -> (OK) { B[] = +(J[1]); OK = B == 0; }", {update.joined}, "ok"));
  TARTAN_ASSIGN_OR_RETURN(
      const api::Tensor inverse,
      api::Apply("function (J) -> (I) { W[] = +(J[0]); I = W > 0 ? as_float(1, 32) / W : "
                 "as_float(1, 32); }",
                 {update.joined}, "inverse"));
  for (api::Tensor& gradient : *gradients) {
    TARTAN_ASSIGN_OR_RETURN(
        gradient, api::Apply("function (S, I) -> (G) { G = S * I; }", {gradient, inverse}, "mean"));
  }
  return update;
}

}  // namespace tartan::train
