// SPDX-License-Identifier: Apache-2.0
// Selects the model value that the loss is applied to. Internal to this folder.
#pragma once

#include <string>

#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// Returns the value named `wanted`, or the model's first output. If the loss takes scores and a
// Softmax (or Sigmoid) makes that value, returns the input of the Softmax.
std::string LossOutput(const onnx::OnnxModel& model, const Loss& loss, const std::string& wanted);

}  // namespace tartan::train
