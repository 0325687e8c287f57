// SPDX-License-Identifier: Apache-2.0
// Outputs of a run that a device may still compute.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device_queue.h"
#include "hal/hal.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// Outputs of a started run. Thread-safe.
class PendingOutputs {
 public:
  // Waits for the run and all earlier runs, and reports their failures.
  absl::StatusOr<std::vector<HostTensor>> Wait() const;

 private:
  friend class DeviceProgram;
  // Takes pinned memory for outputs of few bytes, if the device gains from it.
  void PinSmallOutputs(hal::Device& device, absl::Span<const TensorShape> shapes);

  std::vector<HostTensor> outputs_;
  std::vector<hal::HostMemory> pinned_;  // by output; empty if no output has its memory there
  std::vector<size_t> in_pinned_;        // outputs that Wait copies to ordinary memory
  std::shared_ptr<DeviceQueue> queue_;
  std::shared_ptr<DeviceQueue::Point> read_;
};

}  // namespace tartan::api
