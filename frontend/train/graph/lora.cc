// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/lora.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontend/api/function.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// The matrices that are right factors of MatMul or Gemm nodes, and are used nowhere else.
std::set<std::string> WeightsOfMatmuls(const onnx::OnnxModel& model) {
  std::set<std::string> weights;
  std::set<std::string> others;
  for (const onnx::NodeSummary& node : model.Nodes()) {
    const bool is_matmul = node.op == "MatMul" || node.op == "Gemm";
    for (size_t i = 0; i < node.inputs.size(); ++i)
      (is_matmul && i == 1 ? weights : others).insert(node.inputs[i]);
  }
  for (const std::string& name : others) weights.erase(name);
  return weights;
}

Parameter Factor(const Parameter& weight, std::string name, Role role, std::vector<int64_t> dims) {
  Parameter factor;
  factor.name = std::move(name);
  factor.shape = {weight.shape.type, std::move(dims)};
  factor.role = role;
  factor.is_trained = true;
  factor.group = weight.group;
  factor.input = weight.input;
  factor.fan_in = factor.shape.dims[0];
  return factor;
}

absl::Status CheckRule(const ParameterRules::LoraRule& rule) {
  if (rule.rank < 1 || !(rule.alpha > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("low-rank factors of '", rule.names,
                                                   "': the rank ", rule.rank, " and alpha ",
                                                   rule.alpha, " must be positive"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParameterRules::LoraRule> ParseLora(absl::string_view text) {
  ParameterRules::LoraRule rule;
  const size_t colon = text.rfind(':');
  double alpha = 0;
  bool has_rank = false;
  if (colon != absl::string_view::npos) {
    rule.names = std::string(text.substr(0, colon));
    for (absl::string_view option : absl::StrSplit(text.substr(colon + 1), ',')) {
      if (absl::ConsumePrefix(&option, "rank=") && absl::SimpleAtoi(option, &rule.rank)) {
        has_rank = true;
      } else if (!absl::ConsumePrefix(&option, "alpha=") || !absl::SimpleAtod(option, &alpha)) {
        has_rank = false;
        break;
      }
    }
  }
  if (!has_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not of the form RE:rank=N or RE:rank=N,alpha=X"));
  }
  rule.alpha = alpha != 0 ? alpha : static_cast<double>(rule.rank);
  return rule;
}

std::string FactorA(const Parameter& parameter) { return absl::StrCat(parameter.name, ".lora_a"); }
std::string FactorB(const Parameter& parameter) { return absl::StrCat(parameter.name, ".lora_b"); }

absl::Status AddFactors(const onnx::OnnxModel& model, const ParameterRules& rules,
                        std::vector<Parameter>* parameters) {
  if (rules.lora.empty()) return absl::OkStatus();
  if (rules.trainable.empty()) {
    for (Parameter& parameter : *parameters) parameter.is_trained = false;
  }
  const std::set<std::string> weights = WeightsOfMatmuls(model);
  std::vector<Parameter> factors;
  for (const ParameterRules::LoraRule& rule : rules.lora) {
    TARTAN_RETURN_IF_ERROR(CheckRule(rule));
    const RE2 names(rule.names, RE2::Quiet);
    if (!names.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "low-rank factors: '", rule.names, "' is not a regular expression: ", names.error()));
    }
    bool any = false;
    for (Parameter& parameter : *parameters) {
      const bool is_weight = parameter.shape.rank() == 2 && weights.count(parameter.name) > 0;
      if (!is_weight || parameter.lora_rank > 0 || !RE2::FullMatch(parameter.name, names)) continue;
      const std::vector<int64_t>& dims = parameter.shape.dims;
      if (rule.rank > std::min(dims[0], dims[1])) {
        return absl::InvalidArgumentError(
            absl::StrCat("low-rank factors of '", parameter.name, "' ", parameter.shape.ToString(),
                         ": the rank ", rule.rank, " is above ", std::min(dims[0], dims[1])));
      }
      any = true;
      parameter.is_trained = false;
      parameter.lora_rank = rule.rank;
      parameter.lora_scale = rule.alpha / static_cast<double>(rule.rank);
      factors.push_back(
          Factor(parameter, FactorA(parameter), Role::kFactorA, {dims[0], rule.rank}));
      factors.push_back(
          Factor(parameter, FactorB(parameter), Role::kFactorB, {rule.rank, dims[1]}));
    }
    if (any) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", rule.names, "' names no weight of MatMul or Gemm; such weights are ",
                     absl::StrJoin(weights, ", ")));
  }
  parameters->insert(parameters->end(), factors.begin(), factors.end());
  return absl::OkStatus();
}

absl::StatusOr<api::Tensor> ValueOf(const onnx::OnnxModel& model, const Parameter& parameter,
                                    const std::map<std::string, api::Tensor>& masters) {
  if (parameter.lora_rank == 0) return masters.at(parameter.name);
  const api::Tensor& a = masters.at(FactorA(parameter));
  const api::Tensor& b = masters.at(FactorB(parameter));
  const api::Tensor weight = api::Tensor::Constant(*model.Initializer(parameter.name));
  const absl::string_view wide = a.type() == DataType::kFloat64 ? "64" : "32";
  return api::Apply(absl::StrFormat("function (W[M, N], A[M, R], B[R, N]) -> (Y) {\n"
                                    "  P[i, j : M, N] = +(A[i, k] * B[k, j]);\n"
                                    "  Y = as_float(W, %s) + %.17g * P;\n}",
                                    wide, parameter.lora_scale),
                    {weight, a, b}, absl::StrCat(parameter.name, "_adapted"));
}

HostTensor Merged(const HostTensor& weight, const Parameter& parameter, const HostTensor& a,
                  const HostTensor& b) {
  const int64_t rows = parameter.shape.dims[0];
  const int64_t columns = parameter.shape.dims[1];
  const std::vector<double> left = a.ToDoubles();
  const std::vector<double> right = b.ToDoubles();
  std::vector<double> row(static_cast<size_t>(columns));
  std::vector<uint8_t> bytes(static_cast<size_t>(parameter.shape.byte_size()));
  for (int64_t i = 0; i < rows; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (int64_t k = 0; k < parameter.lora_rank; ++k) {
      const double factor = parameter.lora_scale * left[i * parameter.lora_rank + k];
      for (int64_t j = 0; j < columns; ++j) row[j] += factor * right[k * columns + j];
    }
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = i * columns + j;
      StoreElement(parameter.shape.type, weight.GetDouble(at) + row[j], at, bytes.data());
    }
  }
  return HostTensor(parameter.shape, bytes);
}

}  // namespace tartan::train
