// SPDX-License-Identifier: Apache-2.0
// Runs one operator on given values, on the host, for tests of what the official cases leave out.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"

namespace tartan::onnx {

struct OperatorCall {
  std::string op;
  int opset = 13;
  std::vector<api::HostValue> inputs = {};  // nothing, or a tensor without a type, is left out
  // Fields of the NodeProto as protobuf text: Attribute(…) makes them.
  std::string fields = "";
  int outputs = 1;
  std::string domain = "";
  int domain_opset = 1;
};

absl::StatusOr<std::vector<api::HostValue>> RunOperatorValues(const OperatorCall& call);
// The same where all outputs are tensors of numbers.
absl::StatusOr<std::vector<HostTensor>> RunOperator(const OperatorCall& call);
// The message of its error; empty where it can be run.
std::string Error(const OperatorCall& call);

// "attribute { name: 'axis' type: INT i: 1 }" and the like.
std::string Attribute(const std::string& name, int64_t value);
std::string Attribute(const std::string& name, float value);
std::string Attribute(const std::string& name, const std::string& value);
std::string Attribute(const std::string& name, const std::vector<int64_t>& values);

// Values rounded to `type`, in row-major order.
HostTensor Values(std::vector<int64_t> dims, const std::vector<double>& values,
                  DataType type = DataType::kFloat32);

}  // namespace tartan::onnx
