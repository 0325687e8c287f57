// SPDX-License-Identifier: Apache-2.0
// Lifts: rewrites of a node's older forms into its newest form, so that a handler knows one form
// only. The row of an older version names its lift.
#pragma once

#include "absl/status/status.h"

namespace tartan::onnx {

class NodeContext;

// axes attribute -> operand 1: Squeeze, Unsqueeze before 13, Reduce* before 18.
absl::Status AxesToOperand(NodeContext& context);
// split attribute -> operand 1: Split before 13.
absl::Status SplitToOperand(NodeContext& context);
// shape attribute -> operand 1: Reshape before 5.
absl::Status ShapeToOperand(NodeContext& context);
// pads (or paddings) and value attributes -> operands 1 and 2: Pad before 11.
absl::Status PadsToOperands(NodeContext& context);
// starts, ends, axes attributes -> operands 1, 2, 3: Slice before 10.
absl::Status SliceToOperands(NodeContext& context);
// min and max attributes -> operands 1 and 2: Clip before 11.
absl::Status ClipToOperands(NodeContext& context);
// k attribute -> operand 1: TopK before 10.
absl::Status KToOperand(NodeContext& context);
// tiles and axis operands -> repeats: Tile before 6.
absl::Status TilesToRepeats(NodeContext& context);
// broadcast and axis attributes -> an operand 1 that broadcasts as in NumPy: Add and the like
// before 7.
absl::Status AxisBroadcast(NodeContext& context);
// One slope per channel [C] -> slopes that broadcast against the operand: PRelu before 7.
absl::Status SlopePerChannel(NodeContext& context);

}  // namespace tartan::onnx
