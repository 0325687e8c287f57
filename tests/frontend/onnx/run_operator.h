// SPDX-License-Identifier: Apache-2.0
// Runs one operator on given values on the host, for tests of cases beyond the official ones.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"

namespace tartan::onnx {

struct OperatorCall {
  std::string op;
  int opset = 13;
  // an empty value or a tensor without a type omits the input
  std::vector<api::HostValue> inputs = {};
  // Fields of the NodeProto as protobuf text; `Attribute` makes them.
  std::string fields = "";
  int outputs = 1;
  std::string domain = "";
  int domain_opset = 1;
};

absl::StatusOr<std::vector<api::HostValue>> RunOperatorValues(const OperatorCall& call);
// The same for operators whose outputs are all numeric tensors.
absl::StatusOr<std::vector<HostTensor>> RunOperator(const OperatorCall& call);
// The message of the error; empty when the operator can be run.
std::string Error(const OperatorCall& call);

// The text of an attribute, such as "attribute { name: 'axis' type: INT i: 1 }".
std::string Attribute(const std::string& name, int64_t value);
std::string Attribute(const std::string& name, float value);
std::string Attribute(const std::string& name, const std::string& value);
std::string Attribute(const std::string& name, const std::vector<int64_t>& values);

// A tensor of the values in row-major order, rounded to `type`.
HostTensor Values(std::vector<int64_t> dims, const std::vector<double>& values,
                  DataType type = DataType::kFloat32);

}  // namespace tartan::onnx
