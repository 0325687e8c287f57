// SPDX-License-Identifier: Apache-2.0
// Loops within a program: a body that is compiled once and runs several times on the device. Unlike
// RepeatCall (repeat.h) a loop has gradients, and other operations follow it in the same program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/repeat_body.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tensor_node.h"

namespace tartan::api {

// Iterations of shorter loops are joined into the graph: steps are faster by up to a sixth, but
// compile for longer and longer (docs/notes/frontends.md).
inline constexpr int64_t kMinLoopIterations = 16;

// Applies a body to operands: the initial states, the tensors whose rows are slices, the
// invariants. Returns the final states and the stacked rows.
// - The body has no condition and one iteration or more. Tensors from around the body are found
//   and become invariants.
// - `reversed`: the first iteration reads and writes the last rows. The body's iteration is the
//   number of its row.
absl::StatusOr<std::vector<Tensor>> Loop(RepeatBody body, std::vector<Tensor> operands,
                                         absl::string_view name, bool reversed = false);

// --- For this folder.

// Identifies a tensor.
using ResultKey = std::pair<const TensorNode*, int>;
inline ResultKey ResultKeyOf(const Tensor& tensor) {
  return {tensor.node().get(), tensor.result()};
}

// Tensors by which others are replaced.
using Replacements = std::vector<std::pair<Tensor, Tensor>>;
// The tensors as functions of the replacements. Other operands stay.
std::vector<Tensor> Replaced(absl::Span<const Tensor> tensors, const Replacements& replacements);

// Applies a function of tensors to all results of a body at once, so that they share its work.
template <class Change>
absl::Status ChangeResults(RepeatBody* body, const Change& change) {
  std::vector<Tensor> results = body->next_states;
  results.insert(results.end(), body->rows.begin(), body->rows.end());
  absl::StatusOr<std::vector<Tensor>> changed = change(results);
  if (!changed.ok()) return changed.status();
  const auto first_row = changed->begin() + static_cast<std::ptrdiff_t>(body->next_states.size());
  body->rows.assign(first_row, changed->end());
  body->next_states.assign(changed->begin(), first_row);
  return absl::OkStatus();
}

// Rows of RowElements as rows of this shape.
absl::StatusOr<Tensor> Shaped(const Tensor& flat, const TensorShape& row, absl::string_view name);

// The same tensors computed without loops.
absl::StatusOr<std::vector<Tensor>> Unrolled(absl::Span<const Tensor> tensors);

// The loops that the tensors depend on, operands first. A loop that computes the results of a
// shorter one is in place of it.
std::vector<std::shared_ptr<const TensorNode>> LoopsOf(absl::Span<const Tensor> tensors);

}  // namespace tartan::api
