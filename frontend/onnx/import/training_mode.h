// SPDX-License-Identifier: Apache-2.0
// How a graph is imported that is to be trained: models are exported for inference, where some
// operators do something else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tartan::onnx {

struct TrainingMode {
  // BatchNormalization takes the statistics of the batch, and its running ones follow them
  // (BoundGraph::updates). Else it stays as it was exported.
  bool batch_norm = false;
  // Dropout nodes drop elements, other ones in each run. Else they hand on what they get.
  bool dropout = false;
  std::optional<double> dropout_ratio;  // of all Dropout nodes instead of their own; in [0, 1)
  // Values of the graph of which elements are dropped where there is no node for it, with the
  // ratio.
  std::map<std::string, double> dropout_of;
  // Values of the graph that are outputs too, after the model's own and in this order.
  std::vector<std::string> outputs;
};

}  // namespace tartan::onnx
