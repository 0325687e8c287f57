// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/microsoft/operators.h"

#include <cmath>

#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/operator_table.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {

absl::Status RefuseAttributes(const NodeContext& context,
                              std::initializer_list<const char*> names) {
  for (const char* name : names) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t value, context.Int(name, 0));
    if (value != 0) return Unsupported("attribute '", name, "' is ", value);
  }
  return absl::OkStatus();
}

absl::Status RefuseOperands(const NodeContext& context, std::initializer_list<int> operands) {
  for (int i : operands) {
    if (context.HasInput(i)) return Unsupported("operand ", i);
  }
  return absl::OkStatus();
}

Outputs ApplyOnnx(NodeContext& context, absl::string_view name, int opset) {
  const OperatorRow* const row = FindOperator("", name, opset);
  if (row == nullptr) return absl::InternalError(absl::StrCat("unknown operator ", name));
  if (row->handler != nullptr) return row->handler(context);
  if (row->tile != nullptr) return context.Apply(row->tile);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> values, row->value_handler(context));
  std::vector<Tensor> tensors;
  for (const Value& value : values) {
    const bool is_plain = value.is_tensor() && value.element() == api::Element::kPlain;
    if (!is_plain) return Unsupported("a result that is not a tensor of numbers");
    tensors.push_back(value.tensor());
  }
  return tensors;
}

absl::StatusOr<Tensor> ChannelsFirst(const NodeContext& context, const Tensor& x) {
  if (x.rank() < 3) return Invalid("expected rank 3 or more, got ", x.shape().ToString());
  std::vector<int64_t> order = {0, x.rank() - 1};
  for (int64_t d = 1; d < x.rank() - 1; ++d) order.push_back(d);
  return Transpose(context, x, order);
}

absl::StatusOr<Tensor> ChannelsLast(const NodeContext& context, const Tensor& x) {
  if (x.rank() < 3) return Invalid("expected rank 3 or more, got ", x.shape().ToString());
  std::vector<int64_t> order = {0};
  for (int64_t d = 2; d < x.rank(); ++d) order.push_back(d);
  order.push_back(1);
  return Transpose(context, x, order);
}

absl::StatusOr<Tensor> PartOf(const NodeContext& context, const Tensor& x, int64_t axis,
                              int64_t start, int64_t size) {
  Window window = WholeOf(x);
  window.start[static_cast<size_t>(axis)] = start;
  window.sizes[static_cast<size_t>(axis)] = size;
  return SliceOf(context, x, window);
}

absl::StatusOr<double> ScoreScale(const NodeContext& context, const AttentionCall& call) {
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("scale", 0.0f));
  if (scale != 0) return scale;
  return 1 / std::sqrt(static_cast<double>(call.query.dims()[3]));
}

}  // namespace tartan::onnx
