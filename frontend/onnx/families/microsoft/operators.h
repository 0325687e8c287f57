// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the families of Microsoft's operators.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/families/shared/attention.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

inline constexpr absl::string_view kMicrosoftDomain = "com.microsoft";

constexpr OperatorRow MicrosoftRow(absl::string_view name, Arity arity, Handler handler,
                                   uint32_t host_operands = 0) {
  return In(kMicrosoftDomain, {name, 1, arity, handler, host_operands});
}

// Unimplemented for a nonzero attribute, or for an operand that is present.
absl::Status RefuseAttributes(const NodeContext& context, std::initializer_list<const char*> names);
absl::Status RefuseOperands(const NodeContext& context, std::initializer_list<int> operands);

// Applies ONNX's operator `name`, in the form of operator set `opset`, to the node.
Outputs ApplyOnnx(NodeContext& context, absl::string_view name, int opset);

// ChannelsFirst moves the channels from the last dimension to dimension 1; ChannelsLast is the
// inverse. InvalidArgument below rank 3.
absl::StatusOr<Tensor> ChannelsFirst(const NodeContext& context, const Tensor& x);
absl::StatusOr<Tensor> ChannelsLast(const NodeContext& context, const Tensor& x);

// Elements [start, start + size) along `axis`.
absl::StatusOr<Tensor> PartOf(const NodeContext& context, const Tensor& x, int64_t axis,
                              int64_t start, int64_t size);

// The attribute 'scale' of scores, or 1 / sqrt(size of a head).
absl::StatusOr<double> ScoreScale(const NodeContext& context, const AttentionCall& call);

}  // namespace tartan::onnx
