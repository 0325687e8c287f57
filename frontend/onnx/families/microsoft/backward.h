// SPDX-License-Identifier: Apache-2.0
// Helpers for gradient nodes of training graphs. Most are the derivative of an operator that the
// importer supports.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/onnx/families/microsoft/operators.h"

namespace tartan::onnx {

// An operator's result as a function of the tensors by which it is differentiated.
using Forward = std::function<absl::StatusOr<Tensor>(absl::Span<const Tensor>)>;

// The derivatives of the sum of `forward` * `seed` by each operand, at the operand values `at`.
// InvalidArgument if the seed does not have the result's sizes.
Outputs Backward(const NodeContext& context, const Tensor& seed, absl::Span<const Tensor> at,
                 const Forward& forward);

// The first result of an operator's handler on these operands, with the attributes of the node.
absl::StatusOr<Tensor> ForwardOf(const NodeContext& context, absl::string_view domain,
                                 absl::string_view name, int opset,
                                 absl::Span<const Tensor> operands);

// Rows for both Microsoft's and ONNX's domain. onnxruntime registers these operators in one of
// them, and tools that write training graphs use both.
template <size_t N>
constexpr std::array<OperatorRow, 2 * N> InBothDomains(const OperatorRow (&rows)[N]) {
  std::array<OperatorRow, 2 * N> both{};
  for (size_t i = 0; i < N; ++i) {
    both[2 * i] = rows[i];
    both[2 * i + 1] = rows[i];
    both[2 * i + 1].domain = "";
  }
  return both;
}

}  // namespace tartan::onnx
