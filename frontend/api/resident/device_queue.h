// SPDX-License-Identifier: Apache-2.0
// The order of everything that reads or writes device tensors. Internal to frontend/api.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "hal/hal.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// One for each device that was opened. Thread-safe: what one thread puts in is not divided.
class DeviceQueue {
 public:
  explicit DeviceQueue(hal::DevicePtr device) : device_(std::move(device)) {}

  // Calls `work` with the queue. `kept`, which that may read later, lives until the queue is
  // finished. A failure leaves what was put in before.
  absl::Status Enqueue(const std::function<absl::Status(hal::Queue& queue)>& work,
                       std::vector<HostTensor> kept = {});
  // Waits for everything that was put in; the first failure since the last Finish.
  absl::Status Finish();

 private:
  const hal::DevicePtr device_;
  std::mutex mutex_;
  std::vector<HostTensor> kept_;       // guarded by mutex_; outlives the queue
  std::unique_ptr<hal::Queue> queue_;  // guarded by mutex_; made when it is first needed
};

}  // namespace tartan::api
