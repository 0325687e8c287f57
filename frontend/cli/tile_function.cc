// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/tile_function.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/checks/check_constraints.h"
#include "frontend/cli/input_spec.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

using api::NamedTensor;

constexpr absl::string_view kAllInputs = "all";

std::string ListTensors(const std::vector<NamedTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const NamedTensor& named) {
    absl::StrAppend(out, named.name, ": ", named.tensor.shape().ToString());
  });
}

// The float tensor called `name`; errors mention `option`.
absl::StatusOr<NamedTensor> FindFloat(const std::vector<NamedTensor>& tensors,
                                      const std::string& name, absl::string_view option) {
  for (const NamedTensor& named : tensors) {
    if (named.name != name) continue;
    if (IsFloat(named.tensor.type())) return named;
    return absl::InvalidArgumentError(absl::StrCat(option, " ", name, ": '", name, "' is ",
                                                   named.tensor.shape().ToString(),
                                                   ", but only floats have gradients"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", name, ": no such tensor; the tensors are ", ListTensors(tensors)));
}

std::vector<NamedTensor> Floats(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> floats;
  for (const NamedTensor& named : tensors) {
    if (IsFloat(named.tensor.type())) floats.push_back(named);
  }
  return floats;
}

// The tensors called `names`, each once.
absl::StatusOr<std::vector<NamedTensor>> FindFloats(const std::vector<NamedTensor>& tensors,
                                                    const std::vector<std::string>& names,
                                                    absl::string_view option) {
  std::vector<NamedTensor> found;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) continue;
    TARTAN_ASSIGN_OR_RETURN(found.emplace_back(), FindFloat(tensors, *name, option));
  }
  return found;
}

absl::Status AddGradients(const GradientRequest& request, AppliedFunction* applied) {
  const bool by_all =
      std::find(request.by.begin(), request.by.end(), kAllInputs) != request.by.end();
  std::vector<NamedTensor> by = Floats(applied->inputs);
  if (!by_all) {
    TARTAN_ASSIGN_OR_RETURN(by,
                            At(Stage::kUsage, FindFloats(applied->inputs, request.by, "--grad")));
  }
  std::vector<NamedTensor> of = Floats(applied->outputs);
  if (!request.of.empty()) {
    TARTAN_ASSIGN_OR_RETURN(of,
                            At(Stage::kUsage, FindFloats(applied->outputs, request.of, "--of")));
  }
  if (by.empty() || of.empty()) {
    const bool is_input = by.empty();
    return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                 "--grad: no ", is_input ? "input" : "output", " is a float: ",
                                 ListTensors(is_input ? applied->inputs : applied->outputs))));
  }
  std::vector<api::SeededTensor> losses;
  std::vector<api::Tensor> wrt;
  for (const NamedTensor& output : of) {
    TARTAN_ASSIGN_OR_RETURN(api::Tensor ones, api::Filled(output.tensor.shape(), 1));
    losses.push_back({output.tensor, std::move(ones)});
  }
  for (const NamedTensor& input : by) wrt.push_back(input.tensor);
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<api::Tensor> gradients,
      At(Stage::kModel, api::Gradient(losses, wrt, api::GradientOptions{request.ties})));
  for (size_t i = 0; i < by.size(); ++i) {
    applied->outputs.push_back({absl::StrCat("grad(", by[i].name, ")"), gradients[i]});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<api::TensorSpec>> InputsOf(const api::Function& function,
                                                      const std::vector<std::string>& types) {
  std::vector<api::TensorSpec> inputs;
  for (const lang::Parameter& parameter : function.ast().inputs) {
    api::TensorSpec& input = inputs.emplace_back();
    input.name = std::string(lang::PlainName(parameter.name));
    input.has_rank = parameter.has_dims;
    for (const std::string& dim : parameter.dims) {
      int64_t size = -1;
      const bool is_number = absl::SimpleAtoi(dim, &size);
      input.dims.push_back(is_number ? size : -1);
      input.dim_names.push_back(is_number ? "" : dim);
    }
  }
  for (const std::string& text : types) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named,
                            SplitNamed(text, "NAME=TYPE, such as A=float64", {}));
    const DataType type = DataTypeFromName(named.text);
    if (type == DataType::kInvalid) {
      return absl::InvalidArgumentError(
          absl::StrCat("--type ", text, ": '", named.text,
                       "' is not a type; the types are float16, bfloat16, float32, float64, int8 "
                       "to int64, uint8 to uint64 and bool"));
    }
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const api::TensorSpec& spec) {
      return spec.name == named.name;
    });
    if (input == inputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--type ", text,
                                                     ": the function has no such input; it has ",
                                                     absl::StrJoin(function.input_names(), ", ")));
    }
    input->type = type;
  }
  return inputs;
}

absl::Status CheckSizes(const std::vector<api::TensorSpec>& inputs,
                        const api::NamedShapes& shapes) {
  struct Size {
    int64_t value;
    std::string input;
  };
  std::map<std::string, Size> known;
  for (const api::TensorSpec& input : inputs) {
    for (size_t d = 0; d < input.dim_names.size(); ++d) {
      if (input.dim_names[d].empty()) continue;
      const int64_t value = shapes.at(input.name).dims[d];
      const auto [it, is_new] = known.insert({input.dim_names[d], {value, input.name}});
      if (is_new || it->second.value == value) continue;
      return absl::InvalidArgumentError(absl::StrCat("size ", it->first, " is ", it->second.value,
                                                     " in input '", it->second.input, "' but ",
                                                     value, " in '", input.name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<AppliedFunction> ApplyWithGradients(const api::Function& function,
                                                   const api::NamedTensors& inputs,
                                                   const GradientRequest& request) {
  api::NamedShapes shapes;
  for (const auto& [name, value] : inputs) shapes[name] = value.shape();
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::Tensor> placeholders,
                          At(Stage::kUsage, function.Placeholders(shapes)));
  const std::vector<std::string> input_names = function.input_names();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const HostTensor& value = inputs.at(input_names[i]);
    if (value.shape().rank() > 0 || !IsInteger(value.type())) continue;
    placeholders[i] = api::Tensor::Leaf(value, input_names[i]);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> results,
                          At(Stage::kModel, function.Apply(placeholders)));
  TARTAN_RETURN_IF_ERROR(At(Stage::kModel, api::CheckConstraints(function, placeholders)));
  AppliedFunction applied;
  const std::vector<std::string> output_names = function.output_names();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    applied.inputs.push_back({input_names[i], placeholders[i]});
  }
  for (size_t o = 0; o < results.size(); ++o) {
    applied.outputs.push_back({output_names[o], results[o]});
  }
  if (!request.by.empty()) TARTAN_RETURN_IF_ERROR(AddGradients(request, &applied));
  return applied;
}

}  // namespace tartan::cli
