// SPDX-License-Identifier: Apache-2.0
// Declares the operator rows of ai.onnx, one function per family. Each function is defined in one
// file of this folder. frontend/onnx/README.md describes how to add one.
#pragma once

#include "absl/types/span.h"
#include "frontend/onnx/import/operator_row.h"

namespace tartan::onnx {

absl::Span<const OperatorRow> MathOperators();
absl::Span<const OperatorRow> LogicOperators();
absl::Span<const OperatorRow> ActivationOperators();
absl::Span<const OperatorRow> AttentionOperators();
absl::Span<const OperatorRow> LinearAttentionOperators();
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
absl::Span<const OperatorRow> ResizeOperators();
absl::Span<const OperatorRow> WindowOperators();
absl::Span<const OperatorRow> SelectionOperators();
absl::Span<const OperatorRow> IndexingOperators();
absl::Span<const OperatorRow> ControlFlowOperators();
absl::Span<const OperatorRow> RecurrentOperators();
absl::Span<const OperatorRow> SequenceOperators();
absl::Span<const OperatorRow> StringOperators();
absl::Span<const OperatorRow> TextFeatureOperators();
absl::Span<const OperatorRow> SamplingOperators();
absl::Span<const OperatorRow> RegionOperators();
absl::Span<const OperatorRow> SpectrumOperators();
absl::Span<const OperatorRow> RandomOperators();
absl::Span<const OperatorRow> TrainingOperators();
absl::Span<const OperatorRow> ImageOperators();
// Operators that never became part of the standard, and first forms.
absl::Span<const OperatorRow> LegacyOperators();

}  // namespace tartan::onnx
