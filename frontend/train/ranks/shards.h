// SPDX-License-Identifier: Apache-2.0
// The tensors of a rank that keeps its part of the training state. Internal to frontend/train.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/ranks/gradient_exchange.h"
#include "frontend/train/ranks/shard_layout.h"

namespace tartan::train {

struct Shards {
  ShardLayout layout;
  std::vector<std::string> names;   // of parameters, by tensor of the layout
  std::vector<TensorShape> shapes;  // of their states
  hal::BufferPtr gradient_memory;   // the buckets, then the state kJoined
  std::vector<ShardLayout::Segment> owned;
  // The owned segments as parameters of the update: "w[0:128]", float32[128].
  std::vector<Parameter> segments;
  // States of the update that are parts of other tensors: "gradient/w[0:128]".
  std::map<std::string, api::DeviceTensor> views;
  std::vector<GradientBucket> parameters;  // receives the parts of all ranks
  // Whole states from a checkpoint that are not on the device yet: "square/w".
  std::map<std::string, HostTensor> restored;
};

}  // namespace tartan::train
