// SPDX-License-Identifier: Apache-2.0
// Background work: one low-priority thread per process runs tasks one after the other in idle time
// (idle_time.h). Internal to frontend/api.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "frontend/api/background/idle_time.h"

namespace tartan::api {

// Thread-safe.
class Background {
 public:
  // A task must call it often, without holding locks; it blocks until there is idle time. Returns
  // false if the process is ending, and then the task must return.
  using ContinueCallback = std::function<bool()>;
  struct Task {
    // The waiting task with the maximum urgency runs next; negative: the task is no longer wanted.
    std::function<double()> urgency;
    std::function<void(const ContinueCallback& should_continue)> run;
  };

  // The instance of this process. The first task starts its thread. Process exit waits until the
  // running task calls ContinueCallback, because drivers must not be unloaded during a compilation.
  static Background& OfProcess();

  // Returns false, without taking the task, if the process is ending or no thread can be started.
  bool Add(Task task);

  // While a Pause lives, tasks block in ContinueCallback and background processes are stopped, so
  // that work that somebody waits for gets the processors.
  using Pause = IdleTime::Hold;

 private:
  struct EndBeforeHandlers;

  Background() = default;
  void Work();
  bool MayContinue();  // passed to tasks as `should_continue`
  // Waits for idle time; the mutex is held before and after. Returns false if the process is
  // ending.
  bool AwaitTurn(std::unique_lock<std::mutex>* lock);
  void End();
  // Removes and returns the most urgent task; empty if there is none. Requires the mutex.
  Task TakeNext();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;  // guarded by mutex_, as all members below
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tartan::api
