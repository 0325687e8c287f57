// SPDX-License-Identifier: Apache-2.0
// The order in which a backward pass completes gradients. Internal to frontend/train.
#pragma once

#include <vector>

#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

// The trained parameters that have elements, about in the order in which the backward pass of the
// program completes their gradients: by the first node that uses them, from the last node to the
// first. The result is the same on all ranks, whose compiled programs may differ.
std::vector<const Parameter*> InOrderOfGradients(const onnx::OnnxModel& model,
                                                 const std::vector<Parameter>& parameters);

}  // namespace tartan::train
