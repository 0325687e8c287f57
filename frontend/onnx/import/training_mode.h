// SPDX-License-Identifier: Apache-2.0
// Import settings for training. Models are exported for inference, where some operators behave
// differently.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tartan::onnx {

struct TrainingMode {
  // BatchNormalization uses the statistics of the batch and updates its running ones
  // (BoundGraph::updates). Otherwise it is imported as exported.
  bool batch_norm = false;
  // Number of ranks whose examples together give these statistics; 0: the examples of this process.
  // BoundGraph::updates then has two pairs for each node, whose tensors the ranks exchange:
  // - a placeholder float32[ranks, 3, channels], and the value of this rank;
  // - two placeholders, float32[2, channels] and float32[ranks, 2, channels]. The gradient of the
  //   first is the value of this rank, and the second has the values of all.
  //
  // A program reads the values of all ranks only after it has computed its own.
  int64_t joint_ranks = 0;
  // Dropout nodes drop elements, different ones in each run. Otherwise they are the identity.
  bool dropout = false;
  std::optional<double> dropout_ratio;  // in [0, 1): replaces the ratio of all Dropout nodes
  // Values of the graph that get dropout although no Dropout node follows, with the ratio.
  std::map<std::string, double> dropout_of;
  // Values of the graph that become outputs, after the model's own and in this order.
  std::vector<std::string> outputs;
};

}  // namespace tartan::onnx
