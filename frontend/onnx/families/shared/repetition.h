// SPDX-License-Identifier: Apache-2.0
// Bodies that run several times: the common part of Loop, Scan and the recurrent operators.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// A graph that runs once per iteration.
// - Inputs: the iteration and the condition (if has_iteration), the states, one row of each of
//   `scanned`.
// - Outputs: the condition (if has_iteration), the states, the rows to stack.
struct Repetition {
  const GraphProto* graph = nullptr;
  bool has_iteration = false;
  std::vector<int64_t> condition_dims;  // of the condition, which has one element
  std::vector<Value> states;
  std::vector<Tensor> scanned;  // split along their first dimension
  int64_t iterations = 0;       // upper limit
};

struct RepetitionResult {
  std::vector<Value> states;
  std::vector<Tensor> stacked;  // along a new first dimension
};

// InvalidArgument unless `condition` is a single bool. `what` names the condition in the message.
absl::Status CheckCondition(absl::string_view what, const Value& condition);

// Runs the repetition as one body that stays on the device if its shapes allow it, else imports it
// iteration by iteration.
absl::StatusOr<RepetitionResult> Repeat(NodeContext& context, const Repetition& repetition);

// RowsFirst moves `axis` of `x` to the front and reverses its order if `reversed`. RowsBack is the
// inverse.
absl::StatusOr<Tensor> RowsFirst(const NodeContext& context, const Tensor& x, int64_t axis,
                                 bool reversed);
absl::StatusOr<Tensor> RowsBack(const NodeContext& context, const Tensor& x, int64_t axis,
                                bool reversed);

}  // namespace tartan::onnx
