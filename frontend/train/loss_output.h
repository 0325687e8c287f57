// SPDX-License-Identifier: Apache-2.0
// What of a model a loss sees. Internal to this folder.
#pragma once

#include <string>

#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/loss.h"

namespace tartan::train {

// The value of that name, or the model's first output; of a loss that takes scores, what the
// softmax (or sigmoid) that makes that output is made of.
std::string LossOutput(const onnx::OnnxModel& model, const Loss& loss, const std::string& wanted);

}  // namespace tartan::train
