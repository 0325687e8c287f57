// SPDX-License-Identifier: Apache-2.0
// The family of operators that never became part of the standard, and of first forms.
#pragma once

#include "absl/types/span.h"
#include "frontend/onnx/import/operator_table.h"

namespace tartan::onnx {

absl::Span<const OperatorRow> LegacyOperators();

}  // namespace tartan::onnx
