// SPDX-License-Identifier: Apache-2.0
// Binds a model that runs as one program on plain tensors. Internal to frontend/api.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/programs/model_inputs.h"

namespace tartan::api {

// `values` has the known input values, null for others. Inputs with few elements that decide the
// graph are marked in `by_value` and bound with their values. Returns nullopt if other values
// decide the graph, or an output is not a plain tensor.
absl::StatusOr<std::optional<BoundGraph>> BindPlain(const Model& model,
                                                    std::vector<InputBinding> bindings,
                                                    const InputValues& values,
                                                    std::vector<bool>* by_value);

// InvalidArgument if memory of that type and shape does not match `spec`.
absl::Status CheckMemory(const TensorSpec& spec, const TensorShape& memory);

}  // namespace tartan::api
