// SPDX-License-Identifier: Apache-2.0
// Runs a case of the official ONNX backend tests with the naive evaluator on the host. Checks the
// semantics of operators without the compiler or a device.
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

// The folder of the groups of cases in Debian's package libonnx-testdata.
inline constexpr char kTestDataFolder[] = "/usr/share/libonnx-testdata/data";

// The tolerance of the official runner.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

// The rounding error that a few nodes of this type may accumulate. It holds for the random graphs:
// scripts/compare_graphs.py keeps only graphs whose references are no more sensitive to rounding.
Tolerance ToleranceOf(DataType type);

// The importer's initial knowledge of the inputs. `kKnown`: their values. `kUnknown`: only their
// shapes, until it requests values, as in a session.
enum class Inputs : uint8_t { kKnown, kUnknown };

// A folder with model.onnx and test_data_set_0.
struct NodeCase {
  std::shared_ptr<const OnnxModel> model;
  std::vector<api::HostValue> inputs;
  std::vector<api::HostValue> expected;
};
absl::StatusOr<NodeCase> ReadCase(const std::string& folder);

// Ok when all outputs match. DataLoss names the first element that differs. Otherwise the error of
// the step that failed.
absl::Status RunNodeCase(const std::string& folder);
// The same for a random graph, with a tolerance by the type of each output.
absl::Status RunGraphCase(const std::string& folder, Inputs inputs);

// Compares with the tolerances of RunGraphCase.
absl::Status CompareByType(absl::Span<const api::HostValue> actual,
                           absl::Span<const api::HostValue> expected);

// Ok when types, shapes and values match. NaN equals NaN, and an infinity equals itself.
absl::Status CompareTensors(const HostTensor& actual, const HostTensor& expected,
                            const Tolerance& tolerance);

// The same for values of any kind. The tolerance of bfloat16 is two units or more in its last
// place, as in the official runner.
absl::Status CompareValues(const api::HostValue& actual, const api::HostValue& expected,
                           const Tolerance& tolerance);

// Computes values that depend on no placeholder with the naive evaluator.
absl::StatusOr<std::vector<api::HostValue>> EvaluateValues(const std::vector<api::Value>& values);

// The case folders of a group ("node", "simple" …), sorted by name.
std::vector<std::string> ListCases(const std::string& group);
// The case folders in any folder, sorted by name.
std::vector<std::string> ListCasesIn(const std::string& root);

}  // namespace tartan::onnx
