// SPDX-License-Identifier: Apache-2.0
// Reads the networks of tests/frontend/train/curves: graphs, batches and the losses of PyTorch.
// scripts/training_curves.py writes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/function.h"
#include "frontend/onnx/model/onnx_model.h"
#include "proto/onnx.pb.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

struct Curves {
  onnx::ModelProto graph;
  int batches = 0;
  int64_t classes = 0;
  std::vector<int64_t> target;
  struct Run {
    double rate = 0;
    std::vector<double> losses;
  };
  std::map<std::string, Run> runs;
};

Curves ReadCurves(const std::string& network);

struct Batch {
  api::NamedTensors inputs;
  HostTensor target;
};

Batch BatchOf(const Curves& curves, int number);

// Loads the network with its parameters as inputs.
absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadToTrain(const Curves& curves);

}  // namespace tartan::train
