// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/loss_output.h"

#include <algorithm>

namespace tartan::train {

std::string LossOutput(const onnx::OnnxModel& model, const Loss& loss, const std::string& wanted) {
  const std::string name = wanted.empty() ? model.outputs().front().name : wanted;
  if (!wanted.empty()) return name;
  const bool takes_classes = TakesClassIndices(loss.kind);
  for (const onnx::NodeSummary& node : model.Nodes()) {
    const bool makes =
        std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
    const bool is_activation =
        (takes_classes && (node.op == "Softmax" || node.op == "LogSoftmax")) ||
        (TakesLogits(loss.kind) && node.op == "Sigmoid");
    if (makes && is_activation) return node.inputs[0];
  }
  return name;
}

}  // namespace tartan::train
