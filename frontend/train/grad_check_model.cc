// SPDX-License-Identifier: Apache-2.0
// The check of gradients for models.
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/gradient.h"
#include "frontend/train/grad_check.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

using api::Tensor;

// A model's graph for inputs and parameters that are given. Those whose values decide shapes are
// constants.
class ModelGraph {
 public:
  ModelGraph(const onnx::OnnxModel& model, const std::map<std::string, api::HostValue>& values)
      : model_(model), values_(values) {}

  absl::Status Import(const std::vector<Parameter>& parameters) {
    std::set<size_t> fixed;
    while (true) {
      TARTAN_RETURN_IF_ERROR(Bind(parameters, fixed));
      TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model_.BindToTrain(bindings_, {}));
      for (const api::Value& value : bound.outputs) {
        if (value.is_tensor() && value.element() == api::Element::kPlain)
          outputs.push_back(value.tensor());
      }
      if (bound.needed_values.empty()) return absl::OkStatus();
      for (const int input : bound.needed_values) {
        if (input >= 0 && fixed.insert(static_cast<size_t>(input)).second) continue;
        return absl::UnimplementedError(
            "values that are computed decide shapes: gradients of such a model cannot be checked");
      }
    }
  }

  std::vector<Tensor> outputs;
  std::vector<GivenTensor> parameters;
  std::vector<GivenTensor> inputs;
  std::vector<std::string> fixed_parameters;

 private:
  absl::Status Bind(const std::vector<Parameter>& all, const std::set<size_t>& fixed) {
    bindings_.assign(model_.inputs().size(), {});
    for (api::InputBinding& binding : bindings_) binding.given = false;
    inputs.clear();
    parameters.clear();
    fixed_parameters.clear();
    for (size_t i = 0; i < model_.own_input_count(); ++i) {
      const api::TensorSpec& spec = model_.inputs()[i];
      const auto given = values_.find(spec.name);
      if (given == values_.end()) {
        if (spec.is_optional) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("input '", spec.name, "' is missing: ", spec.ToString()));
      }
      const api::HostValue& value = given->second;
      const bool is_plain = value.is_tensor() && value.element() == api::Element::kPlain;
      bindings_[i].given = true;
      if (value.is_tensor()) bindings_[i].shape = value.tensor().shape();
      if (!is_plain || fixed.count(i) > 0) {
        bindings_[i].value = &value;
        continue;
      }
      bindings_[i].tensor = Tensor::Placeholder(spec.name, value.tensor().shape());
      inputs.push_back({spec.name, bindings_[i].tensor, value.tensor()});
    }
    for (const Parameter& parameter : all) {
      if (!parameter.is_trained) continue;
      if (fixed.count(parameter.input) > 0) {
        fixed_parameters.push_back(parameter.name);
        continue;
      }
      api::InputBinding& binding = bindings_[parameter.input];
      binding.given = true;
      binding.shape = parameter.shape;
      binding.tensor = Tensor::Placeholder(parameter.name, parameter.shape);
      parameters.push_back({parameter.name, binding.tensor, *model_.Initializer(parameter.name)});
    }
    return absl::OkStatus();
  }

  const onnx::OnnxModel& model_;
  const std::map<std::string, api::HostValue>& values_;
  std::vector<api::InputBinding> bindings_;
};

std::map<std::string, std::string> OperatorsOf(const onnx::OnnxModel& model) {
  std::map<std::string, std::string> operators;
  for (const onnx::NodeSummary& node : model.Nodes()) operators[node.label] = node.op;
  return operators;
}

void SetOperator(const std::map<std::string, std::string>& operators, GradientEnd* end) {
  const auto found = operators.find(end->node);
  if (found != operators.end()) end->op = found->second;
}

}  // namespace

absl::StatusOr<GradCheckResult> CheckModelGradients(
    const onnx::OnnxModel& model, const std::shared_ptr<api::Device>& device,
    const std::map<std::string, api::HostValue>& inputs, const ParameterRules& rules,
    const GradCheckOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Parameter> parameters, FindParameters(model, rules));
  ModelGraph graph(model, inputs);
  TARTAN_RETURN_IF_ERROR(graph.Import(parameters));
  if (graph.parameters.empty()) {
    return absl::UnimplementedError(
        "all parameters decide shapes: gradients of such a model cannot be checked");
  }
  TARTAN_ASSIGN_OR_RETURN(
      GradCheckResult result,
      CheckGradients(device, graph.outputs, graph.parameters, graph.inputs, options));
  result.fixed = std::move(graph.fixed_parameters);
  const std::map<std::string, std::string> operators = OperatorsOf(model);
  for (ParameterCheck& check : result.parameters) {
    for (GradientEnd& end : check.ends) SetOperator(operators, &end);
  }
  return result;
}

absl::StatusOr<std::vector<GradientEnd>> FindInputEnds(
    const onnx::OnnxModel& model, const std::map<std::string, api::HostValue>& inputs) {
  ModelGraph graph(model, inputs);
  TARTAN_RETURN_IF_ERROR(graph.Import({}));
  std::vector<Tensor> floats;
  for (const GivenTensor& input : graph.inputs) {
    if (IsFloat(input.placeholder.type())) floats.push_back(input.placeholder);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::GradientPath> paths,
                          api::FindGradientPaths(graph.outputs, floats));
  const std::map<std::string, std::string> operators = OperatorsOf(model);
  std::vector<GradientEnd> ends;
  for (const api::GradientPath& path : paths) {
    for (const std::string& node : path.ends)
      SetOperator(operators, &ends.emplace_back(GradientEnd{node, ""}));
  }
  return ends;
}

}  // namespace tartan::train
