// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/grad_check/grad_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/gradient.h"
#include "frontend/train/grad_check/checked_loss.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

double Norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double RootMeanSquare(const std::vector<double>& values) {
  return values.empty() ? 0 : Norm(values) / std::sqrt(static_cast<double>(values.size()));
}

// The error of a gradient relative to float64.
double RelativeError(const std::vector<double>& gradient, const std::vector<double>& exact) {
  std::vector<double> difference;
  for (size_t i = 0; i < exact.size(); ++i) difference.push_back(gradient[i] - exact[i]);
  const double error = Norm(difference);
  return error == 0 ? 0 : error / Norm(exact);
}

class Checker {
 public:
  Checker(CheckedLoss* loss, const GradCheckOptions& options, SeededNumbers* numbers)
      : loss_(*loss), options_(options), numbers_(*numbers) {}

  absl::Status Check(size_t p, ParameterCheck* check) {
    const std::vector<double>& values = loss_.value(p);
    const auto count = static_cast<int64_t>(values.size());
    if (count == 0) {
      check->status = GradCheckStatus::kOk;
      return absl::OkStatus();
    }
    const double size = RootMeanSquare(values);
    const double scale = size > 0 ? size : 1;
    Direction all;
    for (int64_t i = 0; i < count; ++i) all.emplace_back(i, scale * numbers_.Signed());
    TARTAN_RETURN_IF_ERROR(Add(p, all, check).status());
    const bool takes_all = options_.samples <= 0 || count <= options_.samples;
    const int64_t tries = takes_all ? count : 3 * options_.samples;
    std::set<int64_t> seen;
    for (int64_t t = 0; t < tries; ++t) {
      if (!takes_all && check->checked >= options_.samples) break;
      const int64_t element = takes_all ? t : numbers_.Below(count);
      if (!seen.insert(element).second) continue;
      const double step = std::max(scale, std::abs(values[static_cast<size_t>(element)]));
      TARTAN_ASSIGN_OR_RETURN(const bool has_derivative, Add(p, {{element, step}}, check));
      if (has_derivative) ++check->checked;
    }
    return loss_.Restore(p);
  }

 private:
  // Checks one direction; returns false if there is no derivative.
  absl::StatusOr<bool> Add(size_t p, const Direction& direction, ParameterCheck* check) {
    const std::vector<double>& gradient = loss_.gradient(p);
    double analytic = 0;
    double squares = 0;
    for (const auto& [element, by] : direction) {
      analytic += gradient[static_cast<size_t>(element)] * by;
      squares += by * by;
    }
    const double size = std::sqrt(squares);
    DerivativeCheckOptions options;
    options.tolerance = options_.tolerance;
    options.usual = RootMeanSquare(gradient) * size;
    options.rounding = loss_.rounding();
    TARTAN_ASSIGN_OR_RETURN(
        const DerivativeCheck found,
        CheckDerivative([&](double step) { return loss_.Moved(p, direction, step); }, analytic,
                        options));
    if (found.status == GradCheckStatus::kKink) {
      ++check->kinks;
      return false;
    }
    if (check->status != GradCheckStatus::kDiffers) check->status = found.status;
    check->max_abs_error = std::max(check->max_abs_error, found.difference / size);
    check->greatest = std::max(check->greatest, found.greatest / size);
    if (found.greatest > 0) {
      check->max_rel_error = std::max(check->max_rel_error, found.difference / found.greatest);
    }
    return true;
  }

  CheckedLoss& loss_;
  const GradCheckOptions& options_;
  SeededNumbers& numbers_;
};

// Makes a row for each parameter and reports those without a derivative.
absl::StatusOr<GradCheckResult> FindEnds(absl::Span<const api::Tensor> outputs,
                                         absl::Span<const GivenTensor> parameters) {
  std::vector<api::Tensor> floats;
  for (const api::Tensor& output : outputs) {
    if (IsFloat(output.type())) floats.push_back(output);
  }
  std::vector<api::Tensor> wrt;
  for (const GivenTensor& parameter : parameters) wrt.push_back(parameter.placeholder);
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::GradientPath> paths,
                          api::FindGradientPaths(floats, wrt));
  GradCheckResult result;
  for (size_t p = 0; p < parameters.size(); ++p) {
    ParameterCheck& check = result.parameters.emplace_back();
    check.name = parameters[p].name;
    if (!paths[p].depends || paths[p].exists) continue;
    check.status = GradCheckStatus::kNone;
    for (std::string& node : paths[p].ends) check.ends.push_back({std::move(node), ""});
  }
  return result;
}

using api::Tensor;

// A model's graph for given inputs and parameters. Those whose values decide shapes are constants.
class ModelGraph {
 public:
  ModelGraph(const onnx::OnnxModel& model, onnx::TrainingMode mode,
             const std::map<std::string, api::HostValue>& values)
      : model_(model), mode_(std::move(mode)), values_(values) {}

  absl::Status Import(const std::vector<Parameter>& parameters) {
    std::set<size_t> fixed;
    while (true) {
      TARTAN_RETURN_IF_ERROR(Bind(parameters, fixed));
      TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model_.BindToTrain(bindings_, mode_));
      for (const api::Value& value : bound.outputs) {
        if (value.is_tensor() && value.element() == api::Element::kPlain)
          outputs.push_back(value.tensor());
      }
      if (bound.needed_values.empty()) return absl::OkStatus();
      for (const int input : bound.needed_values) {
        if (input >= 0 && fixed.insert(static_cast<size_t>(input)).second) continue;
        return absl::UnimplementedError(
            "computed values decide shapes: gradients of such a model cannot be checked");
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
  const onnx::TrainingMode mode_;
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

bool GradCheckResult::passed() const {
  bool any = false;
  for (const ParameterCheck& parameter : parameters) {
    if (parameter.status == GradCheckStatus::kDiffers) return false;
    any = any || (parameter.status == GradCheckStatus::kOk && parameter.greatest > 0);
  }
  return any;
}

bool GradCheckResult::has(GradCheckStatus status) const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const ParameterCheck& check) { return check.status == status; });
}

absl::StatusOr<GradCheckResult> CheckGradients(const std::shared_ptr<api::Device>& device,
                                               absl::Span<const api::Tensor> outputs,
                                               absl::Span<const GivenTensor> parameters,
                                               absl::Span<const GivenTensor> inputs,
                                               const GradCheckOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<GradCheckResult> {
    TARTAN_ASSIGN_OR_RETURN(const auto wide, device->InFloat64());
    TARTAN_ASSIGN_OR_RETURN(GradCheckResult result, FindEnds(outputs, parameters));
    const auto has_none = [](const ParameterCheck& check) {
      return check.status == GradCheckStatus::kNone;
    };
    if (std::all_of(result.parameters.begin(), result.parameters.end(), has_none)) return result;
    SeededNumbers numbers(options.seed);
    TARTAN_ASSIGN_OR_RETURN(const auto loss,
                            CheckedLoss::Create(wide, outputs, parameters, inputs, &numbers));
    TARTAN_ASSIGN_OR_RETURN(const auto trained, loss->GradientsOn(device));
    Checker checker(loss.get(), options, &numbers);
    for (size_t p = 0; p < parameters.size(); ++p) {
      ParameterCheck& check = result.parameters[p];
      if (has_none(check)) continue;
      TARTAN_RETURN_IF_ERROR(checker.Check(p, &check));
      check.training_error = RelativeError(trained[p], loss->gradient(p));
    }
    return result;
  });
}

absl::StatusOr<GradCheckResult> CheckModelGradients(
    const onnx::OnnxModel& model, const std::shared_ptr<api::Device>& device,
    const std::map<std::string, api::HostValue>& inputs, const ParameterRules& rules,
    const GradCheckOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Parameter> parameters, FindParameters(model, rules));
  ModelGraph graph(model, onnx::TrainingMode(), inputs);
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
  ModelGraph graph(model, {}, inputs);
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
