// SPDX-License-Identifier: Apache-2.0
// Declares the operator rows of ai.onnx.ml, one function per family. Each function is defined in
// one file of this folder. frontend/onnx/README.md describes how to add one.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

inline constexpr absl::string_view kMlDomain = "ai.onnx.ml";

absl::Span<const OperatorRow> MlEncodingOperators();
absl::Span<const OperatorRow> MlFeatureOperators();
absl::Span<const OperatorRow> MlLinearOperators();
absl::Span<const OperatorRow> MlMapOperators();
absl::Span<const OperatorRow> MlSvmOperators();
absl::Span<const OperatorRow> MlTreeOperators();

}  // namespace tartan::onnx
