// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/sharded_norms.h"

#include <utility>

#include "frontend/api/function.h"
#include "frontend/train/clipping.h"
#include "frontend/train/ranks/joined_sums.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

using api::Tensor;

absl::StatusOr<Tensor> NormsOf(std::vector<Tensor> gradients, const StepPlan& plan) {
  if (gradients.empty()) return api::Filled({DataType::kFloat32, {kNormCount}}, 0);
  TARTAN_ASSIGN_OR_RETURN(const Tensor finite, AllFinite(gradients));
  if (plan.clip_value > 0) {
    for (Tensor& gradient : gradients) {
      TARTAN_ASSIGN_OR_RETURN(gradient, ClipElements(gradient, plan.clip_value));
    }
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor squares, SumOfSquares(gradients));
  return api::Apply(
      "function (S, OK) -> (R) { B = OK ? as_float(0, 32) : as_float(1, 32); "
      "PS[i : 2] = +(S[]), i < 1; PB[i + 1 : 2] = +(B[]), i < 1; R = PS + PB; }",
      {squares, finite}, "norms");
}

}  // namespace

bool NeedsNorms(const StepPlan& plan) { return plan.clip_norm > 0 || plan.loss_scale.has_value(); }

absl::StatusOr<StepGraph> BuildNorms(const std::vector<Parameter>& parameters,
                                     const StepPlan& plan) {
  StepGraph graph;
  std::vector<Tensor> gradients;
  const auto add = [&graph](const StateSpec& spec, const Tensor& input, Tensor next) {
    graph.specs.push_back(spec);
    graph.states.push_back({input, std::move(next)});
  };
  for (const Parameter& parameter : parameters) {
    const StateSpec spec = {StateName("gradient", parameter.name), parameter.shape};
    gradients.push_back(Tensor::Placeholder(spec.name, spec.shape));
    add(spec, gradients.back(), Tensor());
  }
  const StateSpec counter = {kSkipped, {DataType::kInt32, {}}};
  const Tensor skipped = Tensor::Placeholder(counter.name, counter.shape);
  TARTAN_ASSIGN_OR_RETURN(const JoinedUpdate joined, ApplyJoined(skipped, &gradients));
  if (!gradients.empty()) add({kJoined, joined.joined.shape()}, joined.joined, Tensor());
  const StateSpec norms = {kNorms, {DataType::kFloat32, {kNormCount}}};
  TARTAN_ASSIGN_OR_RETURN(Tensor next, NormsOf(std::move(gradients), plan));
  add(norms, Tensor::Placeholder(norms.name, norms.shape), std::move(next));
  return graph;
}

absl::StatusOr<Tensor> SquaresOf(const Tensor& norms) {
  return api::Apply("function (N) -> (S) { S[] = +(N[0]); }", {norms}, "squares");
}

absl::StatusOr<Tensor> FiniteOf(const Tensor& norms) {
  return api::Apply("function (N) -> (OK) { B[] = +(N[1]); OK = B == 0; }", {norms}, "finite");
}

}  // namespace tartan::train
