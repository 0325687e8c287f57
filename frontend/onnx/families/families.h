// SPDX-License-Identifier: Apache-2.0
// Declares the operator rows of each family. Each function is defined in one file below this
// folder. frontend/onnx/README.md describes how to add one.
#pragma once

#include "absl/types/span.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

absl::Span<const OperatorRow> MathOperators();
absl::Span<const OperatorRow> LogicOperators();
absl::Span<const OperatorRow> ActivationOperators();
absl::Span<const OperatorRow> AttentionOperators();
absl::Span<const OperatorRow> LinearAttentionOperators();
absl::Span<const OperatorRow> MicrosoftAttentionOperators();
absl::Span<const OperatorRow> MicrosoftFormOperators();
absl::Span<const OperatorRow> MicrosoftGroupedAttentionOperators();
absl::Span<const OperatorRow> ChannelBlockOperators();
absl::Span<const OperatorRow> MicrosoftTokenizerOperators();
absl::Span<const OperatorRow> MicrosoftTransformerOperators();
absl::Span<const OperatorRow> CastOperators();
absl::Span<const OperatorRow> ConstantOperators();
absl::Span<const OperatorRow> ShapeOperators();
absl::Span<const OperatorRow> MovementOperators();
absl::Span<const OperatorRow> PaddingOperators();
absl::Span<const OperatorRow> LinearOperators();
absl::Span<const OperatorRow> ConvOperators();
absl::Span<const OperatorRow> PoolingOperators();
absl::Span<const OperatorRow> NormalizationOperators();
absl::Span<const OperatorRow> SoftmaxOperators();
absl::Span<const OperatorRow> ReductionOperators();
absl::Span<const OperatorRow> DataDependentOperators();
absl::Span<const OperatorRow> EinsumOperators();
absl::Span<const OperatorRow> LossOperators();
absl::Span<const OperatorRow> QuantizationOperators();
absl::Span<const OperatorRow> MicrosoftQuantizationOperators();
absl::Span<const OperatorRow> MicrosoftQuantizedLayerOperators();
absl::Span<const OperatorRow> ResizeOperators();
absl::Span<const OperatorRow> WindowOperators();
absl::Span<const OperatorRow> SelectionOperators();
absl::Span<const OperatorRow> IndexingOperators();
absl::Span<const OperatorRow> ControlFlowOperators();
absl::Span<const OperatorRow> RecurrentOperators();
absl::Span<const OperatorRow> SequenceOperators();
absl::Span<const OperatorRow> StringOperators();
absl::Span<const OperatorRow> TextFeatureOperators();
absl::Span<const OperatorRow> MlEncodingOperators();
absl::Span<const OperatorRow> MlFeatureOperators();
absl::Span<const OperatorRow> MlLinearOperators();
absl::Span<const OperatorRow> MlMapOperators();
absl::Span<const OperatorRow> MlSvmOperators();
absl::Span<const OperatorRow> MlTreeOperators();
absl::Span<const OperatorRow> SamplingOperators();
absl::Span<const OperatorRow> RegionOperators();
absl::Span<const OperatorRow> SpectrumOperators();
absl::Span<const OperatorRow> RandomOperators();
absl::Span<const OperatorRow> TrainingOperators();
absl::Span<const OperatorRow> ImageOperators();
// Operators that never became part of the standard, and first forms.
absl::Span<const OperatorRow> LegacyOperators();
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
