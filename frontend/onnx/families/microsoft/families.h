// SPDX-License-Identifier: Apache-2.0
// Declares the operator rows of com.microsoft, one function per family. Each function is defined in
// one file of this folder. frontend/onnx/README.md describes how to add one.
#pragma once

#include "absl/types/span.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

absl::Span<const OperatorRow> MicrosoftAttentionOperators();
absl::Span<const OperatorRow> MicrosoftFormOperators();
absl::Span<const OperatorRow> MicrosoftGroupedAttentionOperators();
absl::Span<const OperatorRow> ChannelBlockOperators();
absl::Span<const OperatorRow> MicrosoftTokenizerOperators();
absl::Span<const OperatorRow> MicrosoftTransformerOperators();
absl::Span<const OperatorRow> MicrosoftQuantizationOperators();
absl::Span<const OperatorRow> MicrosoftQuantizedLayerOperators();
absl::Span<const OperatorRow> MicrosoftElementOperators();
absl::Span<const OperatorRow> MicrosoftExpertOperators();
absl::Span<const OperatorRow> MicrosoftGateOperators();
// Nodes of training graphs from onnxruntime-training, in Microsoft's domain and in ONNX's.
absl::Span<const OperatorRow> GradientOperators();
absl::Span<const OperatorRow> LayerGradientOperators();
absl::Span<const OperatorRow> UpdateOperators();
absl::Span<const OperatorRow> TrainingFormOperators();
absl::Span<const OperatorRow> TrainingDropoutOperators();
absl::Span<const OperatorRow> OptimizerOperators();

}  // namespace tartan::onnx
