// SPDX-License-Identifier: Apache-2.0
// Values of a loop's iterations: which vary, rows of a state, and sums over rows. Internal to
// frontend/api.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/function.h"
#include "frontend/api/repeat_body.h"
#include "frontend/api/tensor_node.h"

namespace tartan::api {

// The nodes of the body whose values vary between iterations.
std::unordered_set<const TensorNode*> VaryingNodes(const RepeatBody& body);

// The values of a state before each iteration as rows, of its values after each.
absl::StatusOr<Tensor> RowsBefore(const Tensor& after, const Tensor& first, bool reversed);

// Returns true for A + B of two inputs of one shape.
bool IsSumOfTwo(const ApplicationNode& application);

// The inputs that a result of the application depends on.
absl::StatusOr<std::vector<int>> InputsOfResult(const ApplicationNode& application, int result);

// A function of InputsOfResult that returns the sum of its result `result` over `count`
// rows. Inputs that vary have the rows along a new first dimension. A matmul becomes one matmul
// over all rows. If no input varies, the result is multiplied. Nothing if some operation has no
// such form.
absl::StatusOr<std::optional<Function>> SumOverRows(const ApplicationNode& application, int result,
                                                    const std::vector<bool>& varies, int64_t count);

}  // namespace tartan::api
