// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/loss_output.h"

#include <algorithm>

namespace tartan::train {

std::string LossOutput(const onnx::OnnxModel& model, const Loss& loss, const std::string& wanted) {
  const std::string name = wanted.empty() ? model.outputs().front().name : wanted;
  const char* activation = loss.kind == LossKind::kSoftmaxCrossEntropy  ? "Softmax"
                           : loss.kind == LossKind::kBinaryCrossEntropy ? "Sigmoid"
                                                                        : nullptr;
  if (activation == nullptr || !wanted.empty()) return name;
  for (const onnx::NodeSummary& node : model.Nodes()) {
    const bool makes =
        std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
    const bool is_activation =
        node.op == activation ||
        (node.op == "LogSoftmax" && loss.kind == LossKind::kSoftmaxCrossEntropy);
    if (makes && is_activation) return node.inputs[0];
  }
  return name;
}

}  // namespace tartan::train
