// SPDX-License-Identifier: Apache-2.0
// The inputs of a model in a run, in the model's order. Internal to frontend/api.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"

namespace tartan::api {

// One per input; null if left out.
using InputValues = std::vector<const HostValue*>;

// Arranges values that are given by name. InvalidArgument for an unknown name (listing the model's
// names), a missing input, a wrong type, or a shape that contradicts the model. Inputs in
// `is_taken`, which may be empty, are states or bound to memory: their values stay null.
absl::StatusOr<InputValues> ArrangeInputs(const Model& model,
                                          const std::map<std::string, HostValue>& given,
                                          const std::vector<bool>& is_taken = {});

// The inputs that are bound by value because they are not plain tensors.
std::vector<bool> BoundByValue(const Model& model);

// A key of a run: shapes of all inputs, and the values of those that are bound by value.
std::string SignatureOf(const InputValues& values, const std::vector<bool>& by_value);

std::vector<InputBinding> BindingsOf(const InputValues& values, const std::vector<bool>& by_value);

}  // namespace tartan::api
