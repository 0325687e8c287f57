// SPDX-License-Identifier: Apache-2.0
// Operands whose elements are no plain numbers.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

// Checks operands that are not plain numbers and gives strings one list of words. Returns the
// operand whose elements the outputs have, or -1 where all are plain.
absl::StatusOr<int> PrepareElements(const OperatorRow& row, NodeContext& context);

}  // namespace tartan::onnx
