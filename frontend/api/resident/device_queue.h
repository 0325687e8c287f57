// SPDX-License-Identifier: Apache-2.0
// The order of everything that reads or writes device tensors. Internal to frontend/api.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
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
  // Starts what was put in, and gives a point behind it. Where many points have not been reached,
  // waits for the first: work cannot be put in without end.
  absl::StatusOr<hal::EventPtr> Mark();
  // Waits for everything that was put in; the first failure since the last Finish.
  absl::Status Finish();

 private:
  const hal::DevicePtr device_;
  std::mutex mutex_;
  // Guarded by mutex_, and outlive the queue: what is kept for work since the last point, and for
  // work before each point that may not have been reached.
  std::vector<HostTensor> kept_;
  std::deque<std::pair<hal::EventPtr, std::vector<HostTensor>>> points_;
  std::unique_ptr<hal::Queue> queue_;  // guarded by mutex_; made when it is first needed
};

}  // namespace tartan::api
