// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/single_node.h"

#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/model_reader.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/onnx/values/tensor_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum number of cached one-node models (empirical).
constexpr size_t kMaxModels = 4096;

struct SetAttribute {
  AttributeProto& proto;

  void operator()(int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(double value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    for (int64_t value : values) proto.add_ints(value);
  }
  void operator()(const std::vector<double>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    for (double value : values) proto.add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const HostTensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    ToTensorProto(value, proto.mutable_t());
  }
};

ModelProto ModelOf(const SingleNode& call, absl::Span<const api::Tensor> inputs) {
  ModelProto model;
  model.set_ir_version(kNewestIrVersion);
  OperatorSetIdProto* base = model.add_opset_import();
  base->set_version(call.domain.empty() && call.opset > 0 ? call.opset : kNewestOpset);
  if (!call.domain.empty()) {
    OperatorSetIdProto* own = model.add_opset_import();
    own->set_domain(call.domain);
    own->set_version(call.opset > 0 ? call.opset : 1);
  }
  GraphProto* graph = model.mutable_graph();
  graph->set_name(call.name);
  NodeProto* node = graph->add_node();
  node->set_op_type(call.name);
  node->set_domain(call.domain);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = inputs[i].defined() ? absl::StrCat("x", i) : "";
    node->add_input(name);
    if (name.empty()) continue;
    ValueInfoProto* input = graph->add_input();
    input->set_name(name);
    input->mutable_type()->mutable_tensor_type()->set_elem_type(DataTypeToOnnx(inputs[i].type()));
  }
  for (int o = 0; o < call.outputs; ++o) {
    node->add_output(absl::StrCat("y", o));
    graph->add_output()->set_name(absl::StrCat("y", o));
  }
  for (const auto& [name, value] : call.attributes) {
    AttributeProto* attribute = node->add_attribute();
    attribute->set_name(name);
    std::visit(SetAttribute{*attribute}, value);
  }
  return model;
}

using ModelPtr = std::shared_ptr<const OnnxModel>;

absl::StatusOr<ModelPtr> FindModel(const SingleNode& call, absl::Span<const api::Tensor> inputs) {
  static auto& mutex = *new std::mutex;
  static auto& models = *new std::map<std::string, ModelPtr>;  // by their serialised bytes
  const std::string bytes = ModelOf(call, inputs).SerializeAsString();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (const auto found = models.find(bytes); found != models.end()) return found->second;
  }
  TARTAN_ASSIGN_OR_RETURN(
      const ModelPtr model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                           call.name));
  std::lock_guard<std::mutex> lock(mutex);
  if (models.size() >= kMaxModels) models.clear();
  models.emplace(bytes, model);
  return model;
}

absl::Status IsNotKnown(const std::string& operand) {
  return absl::FailedPreconditionError(
      absl::StrCat("the value of ", operand, " decides the result's shape, but is not known"));
}

// Fills the bindings with the values that the import needs.
absl::Status AddValues(absl::Span<const int> needed, api::Resolver* resolver,
                       std::vector<api::InputBinding>* bindings,
                       std::vector<std::unique_ptr<api::HostValue>>* values) {
  for (int input : needed) {
    // Tensors from which an operand is computed have no input of their own.
    if (static_cast<size_t>(input) >= bindings->size()) return IsNotKnown("an operand");
    api::InputBinding& binding = (*bindings)[static_cast<size_t>(input)];
    api::Tensor known = binding.tensor;
    if (known.constant() == nullptr) {
      const std::string operand = absl::StrCat("operand ", input);
      if (resolver == nullptr) return IsNotKnown(operand);
      TARTAN_ASSIGN_OR_RETURN(const api::BreakResult resolved,
                              resolver->Resolve({operand, {binding.tensor}, nullptr, {}}));
      known = resolved.results[0];
    }
    values->push_back(std::make_unique<api::HostValue>(*known.constant()));
    binding.value = values->back().get();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<api::Tensor>> Apply(const SingleNode& call,
                                               absl::Span<const api::Tensor> inputs,
                                               api::Resolver* resolver) {
  TARTAN_ASSIGN_OR_RETURN(const ModelPtr model, FindModel(call, inputs));
  std::vector<api::InputBinding> bindings;
  for (const api::Tensor& input : inputs) {
    if (input.defined()) bindings.push_back({input.shape(), nullptr, input});
  }
  std::vector<std::unique_ptr<api::HostValue>> values;  // keeps the values of `bindings` alive
  api::BoundGraph bound;
  for (bool is_again = false;; is_again = true) {
    TARTAN_ASSIGN_OR_RETURN(bound, model->Bind(bindings, resolver));
    if (bound.needed_values.empty()) break;
    if (is_again)
      return absl::InternalError(absl::StrCat(call.name, " requests the same values twice"));
    TARTAN_RETURN_IF_ERROR(AddValues(bound.needed_values, resolver, &bindings, &values));
  }
  std::vector<api::Tensor> results;
  for (const api::Value& output : bound.outputs) {
    if (!output.is_tensor() || output.element() != api::Element::kPlain) {
      return absl::UnimplementedError(
          absl::StrCat(call.name, ": a result that is not a tensor of plain numbers"));
    }
    results.push_back(output.tensor());
  }
  return results;
}

}  // namespace tartan::onnx
