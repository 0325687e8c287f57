// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/sharded/build_norms.h"

#include <utility>

#include "frontend/api/function.h"
#include "frontend/train/clipping.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/norms.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

using api::Tensor;

absl::StatusOr<Tensor> NormsOfAll(std::vector<Tensor> gradients, const StepPlan& plan) {
  if (gradients.empty()) return api::Filled({DataType::kFloat32, {kNormCount}}, 0);
  TARTAN_ASSIGN_OR_RETURN(const Tensor finite, AllFinite(gradients));
  if (plan.clip_value > 0) {
    for (Tensor& gradient : gradients) {
      TARTAN_ASSIGN_OR_RETURN(gradient, ClipElements(gradient, plan.clip_value));
    }
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor squares, SumOfSquares(gradients));
  return NormsOf(squares, finite);
}

}  // namespace

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
  TARTAN_ASSIGN_OR_RETURN(Tensor next, NormsOfAll(std::move(gradients), plan));
  add(norms, Tensor::Placeholder(norms.name, norms.shape), std::move(next));
  return graph;
}

}  // namespace tartan::train
