// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/device_queue.h"

#include <iterator>
#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::api {

absl::Status DeviceQueue::CreateQueue() {
  if (queue_ != nullptr) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(queue_, device_->CreateQueue(/*profiling=*/false));
  return absl::OkStatus();
}

absl::Status DeviceQueue::Enqueue(const std::function<absl::Status(hal::Queue& queue)>& work,
                                  std::vector<HostTensor> kept) {
  std::lock_guard<std::mutex> lock(mutex_);
  TARTAN_RETURN_IF_ERROR(CreateQueue());
  TARTAN_RETURN_IF_ERROR(StartLast());
  kept_.insert(kept_.end(), std::move_iterator(kept.begin()), std::move_iterator(kept.end()));
  return work(*queue_);
}

absl::StatusOr<hal::EventPtr> DeviceQueue::MarkNow() {
  constexpr size_t kMaxPendingEvents = 4;
  TARTAN_ASSIGN_OR_RETURN(hal::EventPtr point, queue_->Mark());
  points_.emplace_back(point, std::exchange(kept_, {}));
  while (points_.size() > kMaxPendingEvents) {
    // Whoever waits for the event or finishes the queue gets the error.
    (void)points_.front().first->Wait();
    points_.pop_front();
  }
  return point;
}

absl::StatusOr<hal::EventPtr> DeviceQueue::Mark() {
  std::lock_guard<std::mutex> lock(mutex_);
  TARTAN_RETURN_IF_ERROR(CreateQueue());
  TARTAN_RETURN_IF_ERROR(StartLast());
  return MarkNow();
}

absl::Status DeviceQueue::StartLast() {
  const std::shared_ptr<Point> last = std::exchange(last_, nullptr);
  if (last == nullptr || last->event_ != nullptr) return absl::OkStatus();
  absl::StatusOr<hal::EventPtr> event = MarkNow();
  if (event.ok()) {
    last->event_ = *std::move(event);
  } else {
    last->result_ = event.status();
  }
  return event.status();
}

absl::StatusOr<std::shared_ptr<DeviceQueue::Point>> DeviceQueue::MarkLater() {
  std::lock_guard<std::mutex> lock(mutex_);
  TARTAN_RETURN_IF_ERROR(CreateQueue());
  TARTAN_RETURN_IF_ERROR(StartLast());
  auto point = std::make_shared<Point>();
  if (device_->info().type != hal::DeviceType::kCpu) {
    TARTAN_ASSIGN_OR_RETURN(point->event_, MarkNow());
  }
  last_ = point;
  return point;
}

absl::Status DeviceQueue::WaitFor(Point& point) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (point.result_.has_value()) return *point.result_;
  if (const hal::EventPtr event = point.event_; event != nullptr) {
    lock.unlock();  // other threads may enqueue meanwhile
    absl::Status status = event->Wait();
    lock.lock();
    if (!point.result_.has_value()) point.result_ = std::move(status);
  }
  // After the last command, the queue becomes idle, so that the host may execute the next ones.
  if (last_.get() == &point) {
    absl::Status status = FinishNow();
    if (!point.result_.has_value() || point.result_->ok()) point.result_ = std::move(status);
  }
  return point.result_.value_or(absl::InternalError("the commands of a point were not started"));
}

absl::Status DeviceQueue::FinishNow() {
  const std::shared_ptr<Point> last = std::exchange(last_, nullptr);
  absl::Status status = queue_->Finish();
  kept_.clear();
  points_.clear();
  if (last != nullptr && !last->result_.has_value()) last->result_ = status;
  return status;
}

absl::Status DeviceQueue::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_ == nullptr) return absl::OkStatus();
  // After a marker, the queue also waits for threads that helped the host, and releases memory.
  absl::Status status = queue_->Mark().status();
  status.Update(FinishNow());
  return status;
}

}  // namespace tartan::api
