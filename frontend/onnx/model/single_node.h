// SPDX-License-Identifier: Apache-2.0
// Applies one ONNX operator to lazy tensors without a model file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resolver.h"
#include "frontend/api/tensor.h"

namespace tartan::onnx {

// A float attribute is given as a double, and rounded.
using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>, HostTensor>;

struct SingleNode {
  std::string name;         // "Conv"
  std::string domain = {};  // empty: ai.onnx
  int64_t opset = 0;        // 0: the newest known one
  std::vector<std::pair<std::string, AttributeValue>> attributes = {};
  int outputs = 1;
};

// Undefined inputs are left out. Extra outputs, which the operator lacks, are undefined. Values
// that decide shapes must be constants, or `resolver` supplies them. Without a resolver such an
// operand is a FailedPrecondition that names it. Fails otherwise as the import of the node does.
absl::StatusOr<std::vector<api::Tensor>> Apply(const SingleNode& call,
                                               absl::Span<const api::Tensor> inputs,
                                               api::Resolver* resolver = nullptr);

}  // namespace tartan::onnx
