// SPDX-License-Identifier: Apache-2.0
// Import settings for training. Models are exported for inference, where some operators behave
// differently.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tartan::onnx {

struct TrainingMode {
  // BatchNormalization uses the statistics of the batch and updates its running ones
  // (BoundGraph::updates). Otherwise it is imported as exported.
  bool batch_norm = false;
  // Dropout nodes drop elements, different ones in each run. Otherwise they are the identity.
  bool dropout = false;
  std::optional<double> dropout_ratio;  // in [0, 1): replaces the ratio of all Dropout nodes
  // Values of the graph that get dropout although no Dropout node follows, with the ratio.
  std::map<std::string, double> dropout_of;
  // Values of the graph that become outputs, after the model's own and in this order.
  std::vector<std::string> outputs;
};

}  // namespace tartan::onnx
