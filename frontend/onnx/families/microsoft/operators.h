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
  return {.name = name,
          .since_version = 1,
          .arity = arity,
          .handler = handler,
          .host_operands = host_operands,
          .domain = kMicrosoftDomain};
}

// Unimplemented for a nonzero attribute, or for an operand that is present.
absl::Status RefuseAttributes(const NodeContext& context, std::initializer_list<const char*> names);
absl::Status RefuseOperands(const NodeContext& context, std::initializer_list<int> operands);

// Applies ONNX's operator `name`, in the form of operator set `opset`, to the node.
absl::StatusOr<std::vector<api::Tensor>> ApplyOnnx(NodeContext& context, absl::string_view name,
                                                   int opset);

// ChannelsFirst moves the channels from the last dimension to dimension 1; ChannelsLast is the
// inverse. InvalidArgument below rank 3.
absl::StatusOr<api::Tensor> ChannelsFirst(const NodeContext& context, const api::Tensor& x);
absl::StatusOr<api::Tensor> ChannelsLast(const NodeContext& context, const api::Tensor& x);

// Elements [start, start + size) along `axis`.
absl::StatusOr<api::Tensor> PartOf(const NodeContext& context, const api::Tensor& x, int64_t axis,
                                   int64_t start, int64_t size);

// The attribute 'scale' of scores, or 1 / sqrt(size of a head).
absl::StatusOr<double> ScoreScale(const NodeContext& context, const AttentionCall& call);

}  // namespace tartan::onnx
