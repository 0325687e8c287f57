// SPDX-License-Identifier: Apache-2.0
// The families of ai.onnx.ml that the operator table lists.
#include "frontend/onnx/families/ml/families.h"

#include "frontend/onnx/import/families.h"

namespace tartan::onnx {
namespace {

constexpr Family kMlFamilies[] = {
    MlEncodingOperators, MlFeatureOperators, MlLinearOperators,
    MlTreeOperators,     MlMapOperators,     MlSvmOperators,
};

}  // namespace

absl::Span<const Family> MlFamilies() { return kMlFamilies; }

}  // namespace tartan::onnx
