// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks for one device, one after another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"

namespace tartan::api {

class DeviceWorker {
 public:
  // ResourceExhausted if no thread can be started.
  static absl::StatusOr<std::unique_ptr<DeviceWorker>> Start();
  // Runs the tasks that wait, then ends the thread.
  ~DeviceWorker();

  // Adds a task, from any thread. Tasks run in the order of their addition.
  void Add(std::function<void()> task);

 private:
  DeviceWorker() = default;
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool is_ending_ = false;                   // guarded by mutex_
  std::thread thread_;
};

}  // namespace tartan::api
