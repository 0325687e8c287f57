// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/lift.h"

#include <cmath>

#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::Status IntsToOperand(NodeContext& context, absl::string_view attribute, int operand) {
  if (!context.HasAttribute(attribute)) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.Ints(attribute));
  context.SetInput(operand, ConstantInts(values));
  return absl::OkStatus();
}

absl::Status FloatToOperand(NodeContext& context, absl::string_view attribute, int operand) {
  if (!context.HasAttribute(attribute)) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const float value, context.Float(attribute));
  context.SetInput(operand, ConstantScalar(context.input(0).type(), value));
  return absl::OkStatus();
}

absl::Status ReshapeOperand(NodeContext& context, int operand, std::vector<int64_t> dims) {
  const std::string text = TileFunction("X", "Y", {"Y = " + ReshapeCall("X", dims)});
  TARTAN_ASSIGN_OR_RETURN(Tensor tensor, context.ApplyOne(text, {context.input(operand)}));
  context.SetInput(operand, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace

absl::Status AxesToOperand(NodeContext& context) { return IntsToOperand(context, "axes", 1); }

absl::Status SplitToOperand(NodeContext& context) { return IntsToOperand(context, "split", 1); }

absl::Status ShapeToOperand(NodeContext& context) {
  if (!context.HasAttribute("shape")) return Invalid("attribute 'shape' is missing");
  return IntsToOperand(context, "shape", 1);
}

absl::Status PadsToOperands(NodeContext& context) {
  const char* name = context.HasAttribute("paddings") ? "paddings" : "pads";
  if (!context.HasAttribute(name)) return Invalid("attribute '", name, "' is missing");
  TARTAN_RETURN_IF_ERROR(IntsToOperand(context, name, 1));
  return FloatToOperand(context, "value", 2);
}

absl::Status SliceToOperands(NodeContext& context) {
  if (!context.HasAttribute("starts") || !context.HasAttribute("ends")) {
    return Invalid("attributes 'starts' and 'ends' are needed");
  }
  TARTAN_RETURN_IF_ERROR(IntsToOperand(context, "starts", 1));
  TARTAN_RETURN_IF_ERROR(IntsToOperand(context, "ends", 2));
  return IntsToOperand(context, "axes", 3);
}

absl::Status ClipToOperands(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(FloatToOperand(context, "min", 1));
  return FloatToOperand(context, "max", 2);
}

absl::Status KToOperand(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t k, context.Int("k"));
  context.SetInput(1, ConstantInts({k}));
  return absl::OkStatus();
}

absl::Status TilesToRepeats(NodeContext& context) {
  // `tiles` and `axis` have the type of the first operand.
  TARTAN_ASSIGN_OR_RETURN(const double tiles, context.HostFloat(1));
  TARTAN_ASSIGN_OR_RETURN(const double given_axis, context.HostFloat(2));
  if (!(std::abs(tiles) < 1e9 && std::abs(given_axis) < 1e9)) {
    return Invalid("tiles ", tiles, " and axis ", given_axis);
  }
  const int64_t rank = context.input(0).rank();
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(static_cast<int64_t>(given_axis), rank));
  std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
  repeats[static_cast<size_t>(axis)] = static_cast<int64_t>(tiles);
  context.SetInput(1, ConstantInts(repeats));
  context.SetInput(2, Value());
  return absl::OkStatus();
}

absl::Status AxisBroadcast(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t broadcast, context.Int("broadcast", 0));
  const std::vector<int64_t>& a = context.input(0).dims();
  std::vector<int64_t> b = context.input(1).dims();
  if (broadcast == 0) {
    if (a == b) return absl::OkStatus();
    return Invalid("operands of sizes ", DimsToString(a), " and ", DimsToString(b),
                   " differ, and attribute 'broadcast' is 0");
  }
  if (!context.HasAttribute("axis")) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", static_cast<int64_t>(a.size())));
  if (static_cast<size_t>(axis) + b.size() > a.size()) {
    return Invalid("operand of sizes ", DimsToString(b), " does not broadcast to ", DimsToString(a),
                   " from axis ", axis);
  }
  while (static_cast<size_t>(axis) + b.size() < a.size()) b.push_back(1);
  return ReshapeOperand(context, 1, std::move(b));
}

absl::Status SlopePerChannel(NodeContext& context) {
  const Tensor& slope = context.input(1);
  const int64_t rank = context.input(0).rank();
  if (slope.rank() != 1 || slope.dims()[0] == 1 || rank < 2) return absl::OkStatus();
  std::vector<int64_t> dims(static_cast<size_t>(rank - 1), 1);
  dims[0] = slope.dims()[0];
  return ReshapeOperand(context, 1, std::move(dims));
}

}  // namespace tartan::onnx
