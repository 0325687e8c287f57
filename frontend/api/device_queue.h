// SPDX-License-Identifier: Apache-2.0
// The queue that orders all reads and writes of device tensors. For
// frontend/api and distributed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// One queue per opened device. Thread-safe: the commands of one Enqueue stay together.
class DeviceQueue {
 public:
  // A place between commands.
  class Point {
    friend class DeviceQueue;
    hal::EventPtr event_;                 // null until the commands before the point are started
    std::optional<absl::Status> result_;  // of these commands
  };

  explicit DeviceQueue(hal::DevicePtr device) : device_(std::move(device)) {}

  // Calls `work` with the queue. `kept` has memory that the commands read later; it lives until
  // they have finished. After a failure, the commands enqueued before it remain.
  absl::Status Enqueue(const std::function<absl::Status(hal::Queue& queue)>& work,
                       std::vector<HostTensor> kept = {});
  // Starts the enqueued commands and returns an event after them. If too many events are pending,
  // waits for the first, so that the queue stays bounded.
  absl::StatusOr<hal::EventPtr> Mark();
  // Returns the point after the enqueued commands. On a CPU they need not be started yet. If
  // nothing is enqueued before the caller waits, the host's thread may then execute them.
  absl::StatusOr<std::shared_ptr<Point>> MarkLater();
  // Waits for the commands before the point, and returns their first failure.
  absl::Status WaitFor(Point& point);
  // Waits for all commands. Returns the first failure since the last Finish.
  absl::Status Finish();

 private:
  absl::Status CreateQueue();
  absl::StatusOr<hal::EventPtr> MarkNow();
  absl::Status FinishNow();
  // Starts the commands before the last point, if it has no event yet.
  absl::Status StartLast();

  const hal::DevicePtr device_;
  std::mutex mutex_;
  std::shared_ptr<Point> last_;  // guarded by mutex_; null if commands or an event follow
  // Guarded by mutex_; these outlive the queue. `kept_`: memory for commands since the last event.
  // `points_`: memory for commands before each pending event.
  std::vector<HostTensor> kept_;
  std::deque<std::pair<hal::EventPtr, std::vector<HostTensor>>> points_;
  std::unique_ptr<hal::Queue> queue_;  // guarded by mutex_; created on first use
};

}  // namespace tartan::api
