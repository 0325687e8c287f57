// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/model_signature.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::StatusOr<api::TensorSpec> ReadSpec(const ValueInfoProto& value) {
  api::TensorSpec spec;
  spec.name = value.name();
  TARTAN_RETURN_IF_ERROR(FillSpec(value.type(), &spec));
  return spec;
}

}  // namespace

absl::StatusOr<Inputs> ReadInputs(const ModelProto& model, const Graph& built) {
  Inputs inputs;
  const GraphProto& graph = model.graph();
  for (int i = 0; i < graph.input_size(); ++i) {
    const ValueInfoProto& value = graph.input(i);
    const bool has_default = built.constants.count(value.name()) > 0;
    if (has_default && model.ir_version() < 4) continue;
    absl::StatusOr<api::TensorSpec> spec = ReadSpec(value);
    if (!spec.ok()) return Within(absl::StrCat("input '", value.name(), "'"), spec.status());
    spec->is_optional = has_default;
    inputs.specs.push_back(*std::move(spec));
    inputs.positions.push_back(static_cast<size_t>(i));
  }
  return inputs;
}

void AddParameters(const ModelProto& model, Graph* graph, Inputs* inputs) {
  std::set<std::string> known;
  for (const api::TensorSpec& spec : inputs->specs) known.insert(spec.name);
  for (const TensorProto& initializer : model.graph().initializer()) {
    const api::Value& value = graph->constants.at(initializer.name());
    if (!value.is_tensor() || value.element() != api::Element::kPlain) continue;
    const TensorShape& shape = value.tensor().shape();
    if (!IsFloat(shape.type) || !known.insert(initializer.name()).second) continue;
    api::TensorSpec spec;
    spec.name = initializer.name();
    spec.type = shape.type;
    spec.dims = shape.dims;
    spec.dim_names.resize(shape.dims.size());
    spec.is_optional = true;
    inputs->specs.push_back(std::move(spec));
    // Models of IR versions before 4 list them already.
    const auto listed = std::find(graph->inputs.begin(), graph->inputs.end(), initializer.name());
    inputs->positions.push_back(static_cast<size_t>(listed - graph->inputs.begin()));
    if (listed == graph->inputs.end()) graph->inputs.push_back(initializer.name());
  }
}

absl::StatusOr<std::vector<api::TensorSpec>> ReadOutputs(const GraphProto& graph) {
  std::vector<api::TensorSpec> specs;
  for (const ValueInfoProto& value : graph.output()) {
    api::TensorSpec unknown;
    unknown.name = value.name();
    unknown.has_rank = false;
    const bool is_declared = value.type().value_case() != TypeProto::VALUE_NOT_SET;
    absl::StatusOr<api::TensorSpec> spec = is_declared ? ReadSpec(value) : unknown;
    if (!spec.ok()) return Within(absl::StrCat("output '", value.name(), "'"), spec.status());
    specs.push_back(*std::move(spec));
  }
  return specs;
}

}  // namespace tartan::onnx
