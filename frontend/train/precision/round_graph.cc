// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/precision/round_graph.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/precision/round_results.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

TensorShape Master(const TensorShape& shape) {
  return {shape.type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32, shape.dims};
}

absl::StatusOr<api::Tensor> CastTo(const api::Tensor& x, DataType type) {
  if (x.type() == type) return x;
  const std::string call = type == DataType::kBFloat16
                               ? "as_bfloat(X)"
                               : absl::StrCat("as_float(X, ", 8 * ByteWidth(type), ")");
  return api::Apply(absl::StrCat("function (X) -> (Y) { Y = ", call, "; }"), {x}, "cast");
}

absl::StatusOr<api::Tensor> CopyOf(const api::Tensor& master, const Parameter& parameter,
                                   Precision precision) {
  const bool rounds = precision != Precision::kFloat32 && master.type() == DataType::kFloat32 &&
                      (parameter.is_trained || parameter.lora_rank > 0) &&
                      parameter.role != Role::kScale && parameter.role != Role::kEmbedding;
  if (!rounds) return CastTo(master, parameter.shape.type);
  TARTAN_ASSIGN_OR_RETURN(const api::Tensor rounded, api::Rounded(master, TypeOf(precision)));
  return CastTo(rounded, parameter.shape.type);
}

std::vector<api::Tensor> GivenTensors(const std::vector<api::InputBinding>& bindings) {
  std::vector<api::Tensor> given;
  for (const api::InputBinding& binding : bindings) {
    if (binding.tensor.defined()) given.push_back(binding.tensor);
  }
  return given;
}

absl::Status RoundGraph(Precision precision, absl::Span<const api::Tensor> given,
                        api::BoundGraph* graph) {
  if (precision == Precision::kFloat32) return absl::OkStatus();
  std::vector<api::Tensor> tensors;
  for (const api::Value& output : graph->outputs) {
    if (output.is_tensor()) tensors.push_back(output.tensor());
  }
  for (const auto& [tensor, value] : graph->updates) tensors.push_back(value);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> rounded,
                          api::RoundResults(tensors, TypeOf(precision), given));
  size_t next = 0;
  for (api::Value& output : graph->outputs) {
    if (output.is_tensor()) output = api::Value(rounded[next++]);
  }
  for (auto& [tensor, value] : graph->updates) value = rounded[next++];
  return absl::OkStatus();
}

}  // namespace tartan::train
