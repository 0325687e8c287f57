// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/node_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/onnx/values/value_proto.h"
#include "tests/frontend/onnx/naive_resolver.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::onnx {
namespace {

constexpr int64_t kMaxPoints = int64_t{1} << 27;

absl::StatusOr<std::vector<api::HostValue>> ReadValues(const std::string& folder,
                                                       const std::string& prefix,
                                                       const std::vector<api::TensorSpec>& specs) {
  std::vector<api::HostValue> values;
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/test_data_set_0/", prefix, "_", i, ".pb");
    if (!std::filesystem::exists(path)) return values;
    if (i >= specs.size()) return absl::DataLossError(absl::StrCat(path, " has no declaration"));
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), ReadValueFile(path, specs[i]));
  }
}

absl::StatusOr<std::vector<HostTensor>> Evaluate(const std::vector<api::Tensor>& outputs) {
  TARTAN_ASSIGN_OR_RETURN(const api::ComposedProgram composed, api::Compose({}, outputs));
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(composed.program.code()));
  if (!lang::Equal(function, *composed.tree)) {
    return absl::InternalError("the composed text and its tree differ");
  }
  std::vector<TensorShape> shapes;
  std::vector<HostTensor> values;
  for (const api::Tensor& input : composed.inputs) {
    if (input.constant() == nullptr) return absl::InternalError("an input has no value");
    shapes.push_back(input.shape());
    values.push_back(*input.constant());
  }
  lang::BindOptions options;
  options.text = composed.program.code();
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(function, shapes, options));
  ir::NaiveOptions naive;
  naive.max_points = kMaxPoints;
  return ir::EvaluateNaively(program, values, naive);
}

absl::StatusOr<std::vector<api::HostValue>> RunKnown(const OnnxModel& model,
                                                     absl::Span<const api::HostValue> values) {
  std::vector<api::InputBinding> bindings(model.inputs().size());
  for (size_t i = 0; i < bindings.size(); ++i) {
    bindings[i].given = i < values.size();
    if (!bindings[i].given) continue;
    bindings[i].shape = values[i].tensor().shape();
    bindings[i].value = &values[i];
  }
  TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model.Bind(bindings));
  if (!bound.needed_values.empty()) return absl::InternalError("every value was given");
  return EvaluateValues(bound.outputs);
}

// `tolerance_of` returns the tolerance for an expected output.
template <class ToleranceOf>
absl::Status Compare(absl::Span<const api::HostValue> actual,
                     absl::Span<const api::HostValue> expected, const ToleranceOf& tolerance_of) {
  if (actual.size() != expected.size()) {
    return absl::DataLossError(absl::StrCat(actual.size(), " outputs, expected ", expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::Status status = CompareValues(actual[i], expected[i], tolerance_of(expected[i]));
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("output ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

bool Agree(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::abs(expected);
}

}  // namespace

absl::Status CompareTensors(const HostTensor& actual, const HostTensor& expected,
                            const Tolerance& tolerance) {
  if (actual.shape() != expected.shape()) {
    return absl::DataLossError(absl::StrCat("got ", actual.shape().ToString(), ", expected ",
                                            expected.shape().ToString()));
  }
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const bool is_float = IsFloat(expected.type());
    const bool agree = is_float ? Agree(actual.GetDouble(i), expected.GetDouble(i), tolerance)
                                : actual.GetInt(i) == expected.GetInt(i);
    if (agree) continue;
    return absl::DataLossError(absl::StrCat("element ", i, " is ", actual.GetDouble(i),
                                            ", expected ", expected.GetDouble(i)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<api::HostValue>> EvaluateValues(const std::vector<api::Value>& values) {
  std::vector<api::Tensor> tensors;
  for (const api::Value& value : values) AppendTensors(value, &tensors);
  std::vector<HostTensor> results;
  if (!tensors.empty()) {
    TARTAN_ASSIGN_OR_RETURN(results, Evaluate(tensors));
  }
  absl::Span<const HostTensor> rest = results;
  std::vector<api::HostValue> evaluated;
  for (const api::Value& value : values) evaluated.push_back(Replace(value, &rest));
  return evaluated;
}

absl::Status CompareValues(const api::HostValue& actual, const api::HostValue& expected,
                           const Tolerance& tolerance) {
  const bool alike =
      actual.kind() == expected.kind() && actual.element() == expected.element() &&
      (!actual.is_sequence() || actual.elements().size() == expected.elements().size());
  if (!alike) {
    return absl::DataLossError(
        absl::StrCat("got ", Describe(actual), ", expected ", Describe(expected)));
  }
  if (actual.is_nothing()) return absl::OkStatus();
  if (actual.is_tensor() && !actual.is_strings()) {
    return CompareTensors(actual.tensor(), expected.tensor(), tolerance);
  }
  if (actual.is_strings()) {
    const bool equal = actual.tensor().shape() == expected.tensor().shape() &&
                       StringsOf(actual) == StringsOf(expected);
    return equal ? absl::OkStatus() : absl::DataLossError("strings differ");
  }
  for (size_t i = 0; i < expected.elements().size(); ++i) {
    TARTAN_RETURN_IF_ERROR(CompareValues(actual.elements()[i], expected.elements()[i], tolerance));
  }
  return absl::OkStatus();
}

Tolerance ToleranceOf(DataType type) {
  switch (type) {
    case DataType::kFloat64:
      return {1e-9, 1e-12};
    case DataType::kFloat16:
      return {8e-3, 1e-3};
    case DataType::kBFloat16:
      return {6e-2, 1e-2};
    default:
      return {2e-5, 1e-6};
  }
}

// The tolerance of the official runner: two units in the last place of bfloat16.
Tolerance OfficialTolerance(const api::HostValue& value) {
  Tolerance tolerance;
  const bool is_wide = value.is_tensor() && value.tensor().type() == DataType::kBFloat16;
  if (is_wide) tolerance.relative = std::max(tolerance.relative, 0x1p-6);
  return tolerance;
}

absl::StatusOr<NodeCase> ReadCase(const std::string& folder) {
  NodeCase found;
  TARTAN_ASSIGN_OR_RETURN(found.model, OnnxModel::Load(folder + "/model.onnx"));
  TARTAN_ASSIGN_OR_RETURN(found.inputs, ReadValues(folder, "input", found.model->inputs()));
  TARTAN_ASSIGN_OR_RETURN(found.expected, ReadValues(folder, "output", found.model->outputs()));
  return found;
}

absl::Status RunNodeCase(const std::string& folder) {
  TARTAN_ASSIGN_OR_RETURN(const NodeCase node_case, ReadCase(folder));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> actual,
                          RunKnown(*node_case.model, node_case.inputs));
  return Compare(actual, node_case.expected, OfficialTolerance);
}

absl::Status RunGraphCase(const std::string& folder, Inputs inputs) {
  TARTAN_ASSIGN_OR_RETURN(const NodeCase node_case, ReadCase(folder));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> actual,
                          inputs == Inputs::kKnown
                              ? RunKnown(*node_case.model, node_case.inputs)
                              : RunUnknown(*node_case.model, node_case.inputs));
  return CompareByType(actual, node_case.expected);
}

absl::Status CompareByType(absl::Span<const api::HostValue> actual,
                           absl::Span<const api::HostValue> expected) {
  return Compare(actual, expected, [](const api::HostValue& value) {
    const api::HostValue* tensor = &value;
    while (tensor->is_sequence() && !tensor->elements().empty()) tensor = &tensor->elements()[0];
    return ToleranceOf(tensor->tensor().type());
  });
}

std::vector<std::string> ListCases(const std::string& group) {
  return ListCasesIn(std::string(kTestDataFolder) + "/" + group);
}

std::vector<std::string> ListCasesIn(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) {
      folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace tartan::onnx
