// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/device_worker.h"

#include <system_error>
#include <utility>

namespace tartan::api {

absl::StatusOr<std::unique_ptr<DeviceWorker>> DeviceWorker::Start() {
  std::unique_ptr<DeviceWorker> worker(new DeviceWorker());
  try {
    worker->thread_ = std::thread([raw = worker.get()] { raw->Work(); });
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError("no thread can be started for a device");
  }
  return worker;
}

DeviceWorker::~DeviceWorker() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void DeviceWorker::Add(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void DeviceWorker::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace tartan::api
