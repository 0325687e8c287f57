// SPDX-License-Identifier: Apache-2.0
// One operator of ONNX applied to lazy tensors, without a model around it.
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

// A float is given as a double, and rounded.
using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>, HostTensor>;

struct SingleNode {
  std::string name;         // "Conv"
  std::string domain = {};  // empty: ai.onnx
  int64_t opset = 0;        // 0: the newest that is known
  std::vector<std::pair<std::string, AttributeValue>> attributes = {};
  int outputs = 1;
};

// An undefined input is one that is left out; so is an output past those that the operator gives.
// Values that decide shapes are constants, or `resolver` tells them; without one that is
// FailedPrecondition, naming the operand. Other errors are those of importing the node.
absl::StatusOr<std::vector<api::Tensor>> Apply(const SingleNode& call,
                                               absl::Span<const api::Tensor> inputs,
                                               api::Resolver* resolver = nullptr);

}  // namespace tartan::onnx
