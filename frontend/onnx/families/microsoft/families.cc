// SPDX-License-Identifier: Apache-2.0
// The families of com.microsoft that the operator table lists.
#include "frontend/onnx/families/microsoft/families.h"

#include "frontend/onnx/import/families.h"

namespace tartan::onnx {
namespace {

constexpr Family kMicrosoftFamilies[] = {
    MicrosoftAttentionOperators,
    MicrosoftFormOperators,
    MicrosoftGroupedAttentionOperators,
    ChannelBlockOperators,
    MicrosoftTokenizerOperators,
    MicrosoftTransformerOperators,
    MicrosoftQuantizationOperators,
    MicrosoftQuantizedLayerOperators,
    MicrosoftElementOperators,
    MicrosoftExpertOperators,
    MicrosoftGateOperators,
    GradientOperators,
    LayerGradientOperators,
    UpdateOperators,
    TrainingFormOperators,
    TrainingDropoutOperators,
    OptimizerOperators,
};

}  // namespace

absl::Span<const Family> MicrosoftFamilies() { return kMicrosoftFamilies; }

}  // namespace tartan::onnx
