// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/expected_outputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/cli/accuracy.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/input_spec.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/cli/terminal.h"
#include "frontend/onnx/values/value_proto.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

bool IsPlainTensor(const api::HostValue& value) {
  return value.is_tensor() && value.element() == api::Element::kPlain;
}

HostTensor AsType(const HostTensor& tensor, DataType type) {
  const TensorShape shape{type, tensor.shape().dims};
  if (IsFloat(type)) return HostTensor::FromVector(shape, tensor.ToDoubles());
  return HostTensor::FromVector(shape, tensor.ToInts());
}

// The type in which both are compared; `actual` if there is no common type.
DataType CommonType(DataType actual, DataType expected) {
  if (actual == expected) return actual;
  if (IsFloat(actual) && IsFloat(expected)) return DataType::kFloat64;
  return IsInteger(actual) && IsInteger(expected) ? DataType::kInt64 : actual;
}

absl::StatusOr<api::HostValue> ReadValue(const std::string& path, const api::TensorSpec& output) {
  if (!output.is_tensor() || output.element != api::Element::kPlain) {
    if (Extension(path) != ".pb") {
      return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                   path, ": a file of ", output.ToString(), " must be .pb")));
    }
    return At(Stage::kFile, onnx::ReadValueFile(path, output));
  }
  if (!IsTensorExtension(Extension(path))) {
    return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                 path, ": a file of expected values must be .npy or .pb")));
  }
  TARTAN_ASSIGN_OR_RETURN(HostTensor tensor, At(Stage::kFile, ReadTensor(path)));
  return api::HostValue(std::move(tensor));
}

// Compares one output, and sets `note` to the type of the comparison if it is not obvious.
Comparison CompareOutput(const std::string& name, api::HostValue actual, api::HostValue expected,
                         const ExpectedTolerance& given, std::string* note) {
  Tolerance tolerance = given.tolerance;
  if (!IsPlainTensor(actual) || !IsPlainTensor(expected))
    return Compare(actual, expected, tolerance);
  const DataType type = actual.tensor().type();
  if (given.by_type) {
    tolerance = ToleranceFor(type, ScaleOf(expected.tensor()), tolerance);
    if (tolerance.relative != given.tolerance.relative) {
      *note = absl::StrFormat("%s is %s: compared with rtol %.2g, atol %.2g", name, Name(type),
                              tolerance.relative, tolerance.absolute);
    }
  }
  const DataType other = expected.tensor().type();
  const DataType common = CommonType(type, other);
  if (type != other && CommonType(other, type) == common) {
    absl::StrAppend(note, note->empty() ? "" : "; ", name, " is ", Name(type), ", expected is ",
                    Name(other), ": compared as ", Name(common));
    actual = api::HostValue(AsType(actual.tensor(), common));
    expected = api::HostValue(AsType(expected.tensor(), common));
  }
  return Compare(actual, expected, tolerance);
}

}  // namespace

absl::StatusOr<std::vector<ExpectedOutput>> ReadExpectedOutputs(
    const std::vector<std::string>& texts, const std::vector<api::TensorSpec>& outputs) {
  std::vector<std::string> names;
  for (const api::TensorSpec& output : outputs) names.push_back(output.name);
  std::vector<ExpectedOutput> expected;
  for (const std::string& text : texts) {
    TARTAN_ASSIGN_OR_RETURN(
        const NamedText named,
        At(Stage::kUsage, SplitNamed(text, "NAME=@FILE, such as y=@y.npy", names)));
    const auto name = std::find(names.begin(), names.end(), named.name);
    if (name == names.end()) {
      return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                   "the model has no output '", named.name, "'; its outputs are ",
                                   absl::StrJoin(names, ", "))));
    }
    const auto position = static_cast<size_t>(name - names.begin());
    for (const ExpectedOutput& other : expected) {
      if (other.output != position) continue;
      return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                   "--expect '", named.name, "' is given more than once")));
    }
    const std::string path(absl::StripPrefix(named.text, "@"));
    TARTAN_ASSIGN_OR_RETURN(api::HostValue value, ReadValue(path, outputs[position]));
    expected.push_back({position, std::move(value)});
  }
  return expected;
}

bool CompareWithExpected(const std::vector<ExpectedOutput>& expected,
                         const std::vector<api::TensorSpec>& outputs,
                         const std::vector<api::HostValue>& values,
                         const ExpectedTolerance& tolerance, proto::RunReport* report) {
  bool are_equal = true;
  for (const ExpectedOutput& one : expected) {
    const std::string& name = outputs[one.output].name;
    std::string note;
    const Comparison comparison =
        CompareOutput(name, values[one.output], one.value, tolerance, &note);
    proto::RunReport::Comparison* row = report->add_comparisons();
    row->set_output(name);
    row->set_status(comparison.equal ? "pass" : "fail");
    row->set_message(comparison.message);
    row->set_max_abs_error(comparison.max_abs_error);
    row->set_max_rel_error(comparison.max_rel_error);
    row->set_note(note);
    are_equal = are_equal && comparison.equal;
  }
  return are_equal;
}

std::string ComparisonText(const proto::RunReport& report) {
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  for (const proto::RunReport::Comparison& row : report.comparisons()) {
    std::string message = row.status() == "pass"
                              ? absl::StrFormat("max error %.2g", row.max_abs_error())
                              : row.message();
    if (!row.note().empty()) absl::StrAppend(&message, " (", row.note(), ")");
    table.AddRow({row.status(), row.output(), message});
  }
  return table.ToString();
}

}  // namespace tartan::cli
