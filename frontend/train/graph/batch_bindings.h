// SPDX-License-Identifier: Apache-2.0
// Binds the inputs that a batch provides. Internal to frontend/train.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::train {

// One binding per input of the model: placeholders of these shapes, by name. Optional inputs
// without a shape are not given. InvalidArgument for other inputs of the model's own without a
// shape.
absl::StatusOr<std::vector<api::InputBinding>> BindBatch(
    const onnx::OnnxModel& model, absl::Span<const std::pair<std::string, TensorShape>> shapes);

}  // namespace tartan::train
