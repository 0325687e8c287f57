// SPDX-License-Identifier: Apache-2.0
// Adds a rank's elements to those that the other ranks copied to its device, by a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/base/data_type.h"

namespace tartan::distributed {

// Elements of a buffer that is no sub-buffer.
struct Elements {
  hal::BufferPtr buffer;
  int64_t first = 0;
};

// The elements of the other ranks, one slot after another in the order of ranks.
struct Slots {
  hal::BufferPtr buffer;  // not a sub-buffer
  int64_t size = 0;       // elements of a slot
};

// Used by one thread.
class PartSums {
 public:
  PartSums(hal::DevicePtr device, int64_t rank, int64_t ranks)
      : device_(std::move(device)), rank_(rank), ranks_(ranks) {}

  // Writes the sums over all ranks of `count` elements to `to`, and to the last slot if
  // `publishes`. Adds in the order of ranks, 16-bit elements in float32. `to` may be `own`.
  // Enqueues the work.
  absl::Status Add(DataType type, const Elements& own, const Slots& others, const Elements& to,
                   int64_t count, bool publishes, hal::Queue& queue);

 private:
  absl::StatusOr<hal::ExecutablePtr> KernelOf(DataType type);

  const hal::DevicePtr device_;
  const int64_t rank_;
  const int64_t ranks_;
  std::map<DataType, hal::ExecutablePtr> kernels_;
};

}  // namespace tartan::distributed
