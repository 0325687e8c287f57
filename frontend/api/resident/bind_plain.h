// SPDX-License-Identifier: Apache-2.0
// Binds a model that is to run as one program on tensors of numbers. Internal to frontend/api.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"

namespace tartan::api {

// `values`: of inputs that are known, else null. Those that decide the graph, where they are few
// numbers, are marked in `by_value` and bound with their values. Nothing where other values decide
// the graph, or an output is no tensor of numbers.
absl::StatusOr<std::optional<BoundGraph>> BindPlain(const Model& model,
                                                    std::vector<InputBinding> bindings,
                                                    absl::Span<const HostTensor* const> values,
                                                    std::vector<bool>* by_value);

// InvalidArgument where memory of that type and sizes is not what `spec` declares.
absl::Status CheckMemory(const TensorSpec& spec, const TensorShape& memory);

}  // namespace tartan::api
