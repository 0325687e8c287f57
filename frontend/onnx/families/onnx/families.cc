// SPDX-License-Identifier: Apache-2.0
// The families of ai.onnx that the operator table lists.
#include "frontend/onnx/families/onnx/families.h"

#include "frontend/onnx/import/families.h"

namespace tartan::onnx {
namespace {

constexpr Family kOnnxFamilies[] = {
    AttentionOperators,     LinearAttentionOperators,
    ActivationOperators,    ConstantOperators,
    ControlFlowOperators,   ConvOperators,
    DataDependentOperators, CastOperators,
    EinsumOperators,        StringOperators,
    TextFeatureOperators,   IndexingOperators,
    LinearOperators,        LogicOperators,
    LossOperators,          MathOperators,
    MovementOperators,      NormalizationOperators,
    PaddingOperators,       PoolingOperators,
    QuantizationOperators,  RecurrentOperators,
    ReductionOperators,     ResizeOperators,
    SelectionOperators,     SequenceOperators,
    ShapeOperators,         SoftmaxOperators,
    WindowOperators,        SamplingOperators,
    RegionOperators,        SpectrumOperators,
    RandomOperators,        TrainingOperators,
    ImageOperators,         LegacyOperators,
};

}  // namespace

absl::Span<const Family> OnnxFamilies() { return kOnnxFamilies; }

}  // namespace tartan::onnx
