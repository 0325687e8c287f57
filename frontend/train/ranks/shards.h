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
  std::vector<Parameter> whole;     // the parameters
  // The buckets of gradients, or this rank's part of each; then the state kJoined.
  hal::BufferPtr gradient_memory;
  int64_t alignment = 1;  // bytes
  std::vector<ShardLayout::Segment> owned;
  // The owned segments as parameters of the update: "w[0:128]", float32[128].
  std::vector<Parameter> segments;
  // States of the update that are parts of other tensors: "gradient/w[0:128]".
  std::map<std::string, api::DeviceTensor> views;
  std::vector<GradientBucket> parameters;  // receives the parts of all ranks

  // If a rank keeps a part of the gradients: the part by bucket, and memory that steps use for
  // whole buckets one after another.
  std::vector<api::DeviceTensor> parts;
  int64_t arena_bytes = 0;  // that programs need
  hal::BufferPtr arena;
  // The events of the last step, by bucket: computed, and added to the parts.
  std::vector<hal::EventPtr> computed;
  std::vector<hal::EventPtr> reduced;
  size_t next = 0;  // the first bucket that is not being added

  // Whole states from a checkpoint that are not on the device yet: "square/w".
  std::map<std::string, HostTensor> restored;
};

}  // namespace tartan::train
