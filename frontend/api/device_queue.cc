// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/device_queue.h"

#include <iterator>
#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::api {

absl::Status DeviceQueue::Enqueue(const std::function<absl::Status(hal::Queue& queue)>& work,
                                  std::vector<HostTensor> kept) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_ == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(queue_, device_->CreateQueue(/*profiling=*/false));
  }
  kept_.insert(kept_.end(), std::move_iterator(kept.begin()), std::move_iterator(kept.end()));
  return work(*queue_);
}

absl::StatusOr<hal::EventPtr> DeviceQueue::Mark() {
  constexpr size_t kMaxPendingEvents = 4;
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_ == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(queue_, device_->CreateQueue(/*profiling=*/false));
  }
  TARTAN_ASSIGN_OR_RETURN(hal::EventPtr point, queue_->Mark());
  points_.emplace_back(point, std::exchange(kept_, {}));
  while (points_.size() > kMaxPendingEvents) {
    // Whoever waits for the event or finishes the queue gets the error.
    (void)points_.front().first->Wait();
    points_.pop_front();
  }
  return point;
}

absl::Status DeviceQueue::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_ == nullptr) return absl::OkStatus();
  absl::Status status = queue_->Finish();
  kept_.clear();
  points_.clear();
  return status;
}

}  // namespace tartan::api
