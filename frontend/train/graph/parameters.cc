// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/parameters.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Null for an empty text.
absl::StatusOr<std::unique_ptr<RE2>> Expression(const std::string& text, absl::string_view what) {
  if (text.empty()) return std::unique_ptr<RE2>();
  auto expression = std::make_unique<RE2>(text, RE2::Quiet);
  if (expression->ok()) return expression;
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": '", text, "' is not a regular expression: ", expression->error()));
}

struct Use {
  std::string op;
  size_t operand = 0;
};

bool IsNormalization(const std::string& op) {
  return op == "BatchNormalization" || op == "InstanceNormalization" ||
         op == "GroupNormalization" || op == "LayerNormalization" ||
         op == "SkipLayerNormalization" || op == "RMSNormalization" ||
         op == "SimplifiedLayerNormalization";
}

Role RoleOf(const Use& use, int64_t rank) {
  if (use.op == "BatchNormalization" && use.operand == 3) return Role::kStatistics;
  if (use.op == "BatchNormalization" && use.operand == 4) return Role::kVariance;
  if (IsNormalization(use.op)) return use.operand == 1 ? Role::kScale : Role::kBias;
  if (use.op == "Gather" && use.operand == 0) return Role::kEmbedding;
  if (use.op == "PRelu") return Role::kScale;
  if (rank > 1) return Role::kWeight;
  return use.op == "Mul" ? Role::kScale : Role::kBias;
}

int64_t FanIn(const Use& use, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  if (dims.size() < 2 || count == 0) return 1;
  if (use.op == "Conv" || use.op == "ConvInteger") return count / dims[0];
  if (use.op == "ConvTranspose") return count / dims[1];
  if (use.op == "MatMul") return dims[dims.size() - 2];
  // Gemm has its weights in either order; layer exporters write [out, in].
  if (use.op == "Gemm" || use.op == "LSTM" || use.op == "GRU" || use.op == "RNN")
    return dims.back();
  return count / dims[0];
}

}  // namespace

absl::StatusOr<std::vector<Parameter>> FindParameters(const onnx::OnnxModel& model,
                                                      const ParameterRules& rules) {
  TARTAN_ASSIGN_OR_RETURN(const auto trainable, Expression(rules.trainable, "trainable"));
  TARTAN_ASSIGN_OR_RETURN(const auto frozen, Expression(rules.frozen, "frozen"));
  std::vector<std::unique_ptr<RE2>> groups;
  for (const ParameterRules::Group& group : rules.groups) {
    TARTAN_ASSIGN_OR_RETURN(groups.emplace_back(), Expression(group.names, "a group"));
  }
  std::map<std::string, Use> uses;  // the first use of each value
  for (const onnx::NodeSummary& node : model.Nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      uses.try_emplace(node.inputs[i], Use{node.op, i});
  }
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const api::TensorSpec& spec = model.inputs()[i];
    const HostTensor* value = spec.is_optional ? model.Initializer(spec.name) : nullptr;
    if (value == nullptr || !IsFloat(value->type())) continue;
    Parameter parameter;
    parameter.name = spec.name;
    parameter.shape = value->shape();
    parameter.input = i;
    const auto use = uses.find(spec.name);
    if (use != uses.end()) {
      parameter.role = RoleOf(use->second, parameter.shape.rank());
      parameter.fan_in = FanIn(use->second, parameter.shape.dims);
    }
    const bool is_statistics =
        parameter.role == Role::kStatistics || parameter.role == Role::kVariance;
    parameter.is_trained = trainable != nullptr ? RE2::FullMatch(spec.name, *trainable)
                                                : parameter.shape.rank() > 0 && use != uses.end();
    if (is_statistics || (frozen != nullptr && RE2::FullMatch(spec.name, *frozen)))
      parameter.is_trained = false;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g] == nullptr || !RE2::FullMatch(spec.name, *groups[g])) continue;
      parameter.group = rules.groups[g].factors;
      break;
    }
    if (!rules.decay_vectors && parameter.shape.rank() < 2) parameter.group.decay_factor = 0;
    parameters.push_back(std::move(parameter));
  }
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const Parameter& p) { return p.is_trained; });
  const bool has_factors = !rules.lora.empty() && !parameters.empty();
  if (any || has_factors || rules.may_train_nothing) return parameters;
  const auto name = [](std::string* out, const Parameter& p) { absl::StrAppend(out, p.name); };
  return absl::InvalidArgumentError(
      parameters.empty() ? std::string("the model has no float initialisers: nothing to train")
                         : absl::StrCat("nothing is left to train; the model's parameters are ",
                                        absl::StrJoin(parameters, ", ", name)));
}

absl::Status FreezeInputs(const onnx::OnnxModel& model, const std::vector<int>& inputs,
                          std::vector<Parameter>* parameters) {
  for (const int input : inputs) {
    const auto parameter =
        std::find_if(parameters->begin(), parameters->end(),
                     [&](const Parameter& p) { return static_cast<int>(p.input) == input; });
    if (parameter == parameters->end() || !parameter->is_trained) {
      return absl::UnimplementedError(absl::StrCat(
          "the values of input '",
          input < 0 ? std::string("?") : model.inputs()[static_cast<size_t>(input)].name,
          "' decide shapes: such a model cannot be trained"));
    }
    parameter->is_trained = false;
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
