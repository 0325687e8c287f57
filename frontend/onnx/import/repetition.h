// SPDX-License-Identifier: Apache-2.0
// Bodies that are run several times: what Loop, Scan and the recurrent operators have in common.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// A graph to be run for each iteration. Its inputs: the iteration and the condition (where
// has_iteration), states, rows of `scanned`; its outputs: the condition (where has_iteration),
// states, rows to be stacked.
struct Repetition {
  const GraphProto* graph = nullptr;
  bool has_iteration = false;
  std::vector<int64_t> condition_dims;  // of the one element that the condition is
  std::vector<api::Value> states;
  std::vector<api::Tensor> scanned;  // along their first dimension
  int64_t iterations = 0;            // at most
};

struct RepetitionResult {
  std::vector<api::Value> states;
  std::vector<api::Tensor> stacked;  // along a new first dimension
};

// InvalidArgument, naming what the condition is of, where it is no single bool.
absl::Status CheckCondition(absl::string_view what, const api::Value& condition);

// As one body that stays on the device where its shapes allow it, else iteration by iteration.
absl::StatusOr<RepetitionResult> Repeat(NodeContext& context, const Repetition& repetition);

// The rows of `x` along `axis`, in the order of reading, as the rows along the first dimension; and
// back.
absl::StatusOr<api::Tensor> RowsFirst(const NodeContext& context, const api::Tensor& x,
                                      int64_t axis, bool reversed);
absl::StatusOr<api::Tensor> RowsBack(const NodeContext& context, const api::Tensor& x, int64_t axis,
                                     bool reversed);

}  // namespace tartan::onnx
