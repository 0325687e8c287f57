// SPDX-License-Identifier: Apache-2.0
// Work that nobody waits for: one thread of the process, of low priority, does one task after the
// other in idle time (idle_time.h). Internal to frontend/api.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "frontend/api/tiers/idle_time.h"

namespace tartan::api {

// Thread-safe.
class Background {
 public:
  // A task calls it often, where nothing is locked; it waits for idle time. False: the process
  // ends, and so must the task.
  using GoOn = std::function<bool()>;
  struct Task {
    // The greatest of those waiting is next; negative: nobody wants it any more.
    std::function<double()> urgency;
    std::function<void(const GoOn& go_on)> run;
  };

  // That of the process. Its thread begins with the first task. When the process exits, that waits
  // for the task under way to ask whether to go on: drivers must not be unloaded while they
  // compile.
  static Background& OfProcess();

  // False where the process ends or has no thread left: the task is not taken.
  bool Add(Task task);

  // As long as one lives, tasks wait where they ask whether to go on, and the background's
  // processes are stopped, so that what somebody waits for is done first.
  using Pause = IdleTime::Hold;

 private:
  struct EndBeforeHandlers;

  Background() = default;
  void Work();
  bool GoesOn();  // what tasks are given as `go_on`
  // Waits for idle time, with the mutex held before and after it. False where the process ends.
  bool AwaitTurn(std::unique_lock<std::mutex>* lock);
  void End();
  // The most urgent task; an empty one where there is none. With the mutex held.
  Task TakeNext();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;  // guarded by mutex_, as all below
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tartan::api
