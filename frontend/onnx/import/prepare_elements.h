// SPDX-License-Identifier: Apache-2.0
// Preparation of operands whose elements are not plain numbers.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

// Checks operands that are not plain numbers and gives all strings one list of words. Returns the
// operand whose element type the outputs have, or -1 if all operands are plain.
absl::StatusOr<int> PrepareElements(const OperatorRow& row, NodeContext& context);

}  // namespace tartan::onnx
