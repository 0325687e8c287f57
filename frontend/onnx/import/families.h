// SPDX-License-Identifier: Apache-2.0
// The families of operators by library. A build may leave out the libraries of com.microsoft and
// ai.onnx.ml. Each function is defined in `families.cc` of its folder below families/.
#pragma once

#include "absl/types/span.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

using Family = absl::Span<const OperatorRow> (*)();

absl::Span<const Family> OnnxFamilies();
absl::Span<const Family> MicrosoftFamilies();
absl::Span<const Family> MlFamilies();

}  // namespace tartan::onnx
