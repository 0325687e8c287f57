// SPDX-License-Identifier: Apache-2.0
// The tensors of a rank that keeps its part of the training state. Internal to frontend/train.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/ranks/bucket_memory.h"
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
  std::vector<MemoryRange> buckets;  // empty: not bound
};

struct Shards {
  ShardLayout layout;
  int64_t rank = 0;
  std::vector<std::string> names;   // of parameters, by tensor of the layout
  std::vector<TensorShape> shapes;  // of their states
  std::vector<Parameter> whole;     // the parameters
  DividedMemory gradient_memory;
  DividedMemory parameter_memory;
  std::vector<ShardLayout::Segment> owned;
  // The owned segments as parameters of the update: "w[0:128]", float32[128].
  std::vector<Parameter> segments;
  // States of the update that are parts of other tensors: "gradient/w[0:128]".
  std::map<std::string, api::DeviceTensor> views;
  std::vector<GradientBucket> parameters;  // receives the parts of all ranks

  // If a rank keeps a part of the gradients: the memory of whole buckets during a step.
  BucketMemory gradient_buckets;
  // The events of the last step, by bucket: computed, and added to the parts.
  std::vector<hal::EventPtr> computed;
  std::vector<hal::EventPtr> reduced;
  size_t next = 0;  // the first bucket that is not being added

  // If a rank keeps a part of the parameters: memory in which programs gather whole buckets.
  BucketMemory parameter_buckets;
  // The execution in progress has these operations.
  GatherOrder order;
  std::vector<hal::EventPtr> gathered;       // by gather
  size_t next_gather = 0;                    // the first one that has not begun
  hal::EventPtr last_use;                    // of memory in which the next gather may be
  std::map<std::string, HostTensor> values;  // of all parameters, of GatherValues

  // Whole states from a checkpoint that are not on the device yet: "square/w".
  std::map<std::string, HostTensor> restored;

  MemoryRange WholeOf(const DividedMemory& memory, size_t bucket) const;
  // The part of this rank.
  MemoryRange PartOf(const DividedMemory& memory, size_t bucket) const;
  // The bytes by bucket that slots need; 0 for buckets with memory of their own.
  std::vector<int64_t> BytesInTurn(const BucketMemory& memory) const;
  // The places of buckets that are never used at one time.
  MemoryPlaces PlacesOneByOne(const BucketMemory& memory) const;
};

}  // namespace tartan::train
