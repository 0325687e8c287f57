// SPDX-License-Identifier: Apache-2.0
// Runs a case of the official ONNX backend tests on the host: model, inputs and expected outputs
// from a folder, evaluated naively. Checks what operators mean without the compiler or a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Where Debian's libonnx-testdata puts its groups.
inline constexpr char kTestDataFolder[] = "/usr/share/libonnx-testdata/data";

// The tolerance of the official runner.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

// What rounding may make of some nodes of this type. For random graphs, whose references are chosen
// to hang on rounding no more than that (scripts/compare_graphs.py).
Tolerance ToleranceOf(DataType type);

// What the importer knows of the inputs: their values, or their shapes until it asks for values, as
// in a session.
enum class Inputs : uint8_t { kKnown, kUnknown };

// A folder with model.onnx and test_data_set_0.
struct NodeCase {
  std::shared_ptr<const OnnxModel> model;
  std::vector<api::HostValue> inputs;
  std::vector<api::HostValue> expected;
};
absl::StatusOr<NodeCase> ReadCase(const std::string& folder);

// Ok when every output agrees; DataLoss naming the first element that differs; else the error of
// the step that failed.
absl::Status RunNodeCase(const std::string& folder);
// The same for a random graph, with tolerances by the types of its outputs.
absl::Status RunGraphCase(const std::string& folder, Inputs inputs);

// Compares as RunGraphCase does.
absl::Status CompareByType(absl::Span<const api::HostValue> actual,
                           absl::Span<const api::HostValue> expected);

// Ok when types, shapes and values agree: NaN equals NaN, an infinity itself.
absl::Status CompareTensors(const HostTensor& actual, const HostTensor& expected,
                            const Tolerance& tolerance);

// The same for values of any kind; bfloat16 within two units in its last place at least, as the
// official runner compares.
absl::Status CompareValues(const api::HostValue& actual, const api::HostValue& expected,
                           const Tolerance& tolerance);

// Values that depend on no placeholder, computed by the naive evaluator.
absl::StatusOr<std::vector<api::HostValue>> EvaluateValues(const std::vector<api::Value>& values);

// The case folders of a group ("node", "simple" …), by name.
std::vector<std::string> ListCases(const std::string& group);
// The same for any folder of case folders.
std::vector<std::string> ListCasesIn(const std::string& root);

}  // namespace tartan::onnx
