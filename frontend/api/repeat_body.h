// SPDX-License-Identifier: Apache-2.0
// The body of a loop, as lazy tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tensor_node.h"

namespace tartan::api {

// The first group has the placeholders, which are all that the body depends on.
struct RepeatBody {
  Tensor iteration;  // int64 scalar, counts from 0; undefined if unused
  std::vector<Tensor> states;
  std::vector<Tensor> slices;  // row `iteration` of an operand, along its first dimension
  std::vector<Tensor> invariants;

  Tensor condition;                 // bool scalar; undefined: true in all iterations
  std::vector<Tensor> next_states;  // same shapes as `states`
  std::vector<Tensor> rows;         // stacked along a new first dimension

  // Maximum number of iterations. Running kMaxIterations iterations without the condition ending
  // the loop is an error.
  int64_t iterations = 0;
};

// --- For this folder.

// Elements from one row of a loop to the next. Rows begin where devices allow buffers to begin.
int64_t RowElements(const TensorShape& row);

// A loop whose scanned operands and stacked rows are [iterations, RowElements]. `shorter`: as in
// LoopNode.
std::shared_ptr<const TensorNode> MakeLoop(RepeatBody body, std::vector<NodeResult> inputs,
                                           absl::string_view name, bool reversed,
                                           std::shared_ptr<const TensorNode> shorter = nullptr);

}  // namespace tartan::api
