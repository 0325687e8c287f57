// SPDX-License-Identifier: Apache-2.0
// Conversion of a tensor's elements to another type, as ONNX's Cast defines it: numbers of all
// widths, and strings.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/values/value_proto.h"

namespace tartan::onnx {

// Returns `x`, a tensor, with elements of type `to`. A float becomes the shortest text that reads
// back to the same number ("0.1", "-1.0", "NaN", "-INF"). A word that is a known operand and no
// number is InvalidArgument. Numbers that become strings are known at import or requested as
// NodeContext::HostValue does. They replace operand 0.
absl::StatusOr<Value> CastElements(NodeContext& context, const Value& x, const ElementType& to);

}  // namespace tartan::onnx
