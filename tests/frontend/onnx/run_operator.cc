// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/run_operator.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/onnx/values/value_proto.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/node_case.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

int32_t OnnxTypeOf(const api::HostValue& tensor) {
  return ElementToOnnx({tensor.tensor().type(), tensor.element()});
}

// A graph input that is a map.
std::string MapText(const std::string& name, const api::HostValue& map) {
  return absl::StrCat(
      "input { name: '", name, "' type { map_type { key_type: ", OnnxTypeOf(map.keys()),
      " value_type { tensor_type { elem_type: ", OnnxTypeOf(map.values()), " } } } } } ");
}

}  // namespace

absl::StatusOr<std::vector<api::HostValue>> RunOperatorValues(const OperatorCall& call) {
  std::string node = absl::StrCat("node { name: 'n' op_type: '", call.op, "' domain: '",
                                  call.domain, "' ", call.fields);
  std::string graph;
  std::vector<api::InputBinding> bindings;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const api::HostValue& input = call.inputs[i];
    if (input.is_nothing() || (input.is_tensor() && input.tensor().type() == DataType::kInvalid)) {
      node += " input: ''";
      continue;
    }
    const std::string name = absl::StrCat("x", i);
    absl::StrAppend(&node, " input: '", name, "'");
    if (input.is_map()) {
      graph += MapText(name, input);
      bindings.emplace_back().value = &input;
      continue;
    }
    graph += ValueText("input", name, OnnxTypeOf(input),
                       absl::StrJoin(input.tensor().shape().dims, " "));
    api::InputBinding binding;
    binding.shape = input.tensor().shape();
    binding.value = &input;
    bindings.push_back(binding);
  }
  for (int i = 0; i < call.outputs; ++i) {
    absl::StrAppend(&node, " output: 'y", i, "'");
    absl::StrAppend(&graph, " output { name: 'y", i, "' }");
  }
  const std::string opset = call.domain.empty()
                                ? ""
                                : absl::StrCat("opset_import { domain: '", call.domain,
                                               "' version: ", call.domain_opset, " } ");
  const std::string bytes =
      ModelBytes(absl::StrCat(opset, "graph { ", node, " } ", graph, " }"), call.opset);
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model->Bind(bindings));
  return EvaluateValues(bound.outputs);
}

absl::StatusOr<std::vector<HostTensor>> RunOperator(const OperatorCall& call) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> values, RunOperatorValues(call));
  std::vector<HostTensor> tensors;
  for (const api::HostValue& value : values) {
    if (!value.is_tensor()) return absl::InternalError(Describe(value));
    tensors.push_back(value.tensor());
  }
  return tensors;
}

std::string Error(const OperatorCall& call) {
  return std::string(RunOperatorValues(call).status().message());
}

std::string Attribute(const std::string& name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

std::string Attribute(const std::string& name, float value) {
  return absl::StrCat("attribute { name: '", name, "' type: FLOAT f: ", value, " } ");
}

std::string Attribute(const std::string& name, const std::string& value) {
  return absl::StrCat("attribute { name: '", name, "' type: STRING s: '", value, "' } ");
}

std::string Attribute(const std::string& name, const std::vector<int64_t>& values) {
  return absl::StrCat("attribute { name: '", name, "' type: INTS ints: [",
                      absl::StrJoin(values, ", "), "] } ");
}

HostTensor Values(std::vector<int64_t> dims, const std::vector<double>& values, DataType type) {
  const TensorShape shape{type, std::move(dims)};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor(shape, bytes);
}

}  // namespace tartan::onnx
