// SPDX-License-Identifier: Apache-2.0
// The tensors of a rank that keeps its part of the training state. Internal to frontend/train.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/ranks/gather_schedule.h"
#include "frontend/train/ranks/gradient_exchange.h"
#include "frontend/train/ranks/shard_layout.h"

namespace tartan::train {

// The gathers of a program, and the memory in which they put parameters.
struct GatherPlan {
  // The states that are such parameters, with the tensor of the layout.
  std::vector<std::pair<size_t, size_t>> states;
  GatherNeeds needs;
  GatherOrder order;  // of which `places` are
  MemoryPlaces places;
  std::vector<api::DeviceTensor> buckets;  // empty: not bound
};

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
  hal::BufferPtr parameter_memory;         // of whole parameters, or of this rank's part

  // If a rank keeps a part of the gradients: the part by bucket, and memory that steps use for
  // whole buckets one after another.
  std::vector<api::DeviceTensor> parts;
  int64_t arena_bytes = 0;  // that programs need
  hal::BufferPtr arena;
  // The events of the last step, by bucket: computed, and added to the parts.
  std::vector<hal::EventPtr> computed;
  std::vector<hal::EventPtr> reduced;
  size_t next = 0;  // the first bucket that is not being added

  // If a rank keeps a part of the parameters: the part by bucket, and memory in which programs
  // gather whole buckets one after another.
  std::vector<api::DeviceTensor> parameter_parts;
  int64_t gather_bytes = 0;  // that programs need
  hal::BufferPtr gather_arena;
  // The execution in progress has these operations.
  GatherOrder order;
  std::vector<hal::EventPtr> gathered;       // by gather
  size_t next_gather = 0;                    // the first one that has not begun
  hal::EventPtr last_use;                    // of memory in which the next gather may be
  std::map<std::string, HostTensor> values;  // of all parameters, of GatherValues

  // Whole states from a checkpoint that are not on the device yet: "square/w".
  std::map<std::string, HostTensor> restored;
};

}  // namespace tartan::train
