// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/background/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tartan::api {
namespace {

// Niceness of the background thread: it gets 30 % of a processor that it shares with a thread of
// normal priority. The lowest priority is unsuitable: the thread briefly takes locks that runs
// need, and might hold them for long on a busy machine. Processes in which it compiles start with
// the lowest priority (compiler_process.h).
constexpr int kNiceness = 4;
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

// Ends the background before any exit handler runs: exit() first destroys the thread-local objects
// of its thread. Compilers register exit handlers while they compile. Those would run before a
// handler registered earlier, and destroy objects that a compiling thread still needs.
struct Background::EndBeforeHandlers {
  ~EndBeforeHandlers() {
    if (ThisThread() == getpid()) Background::OfProcess().End();
  }
};

Background& Background::OfProcess() {
  // Never destroyed, because threads that outlive main may still use it.
  static Background& background = *new Background();
  return background;
}

bool Background::Add(Task task) {
  static thread_local EndBeforeHandlers end;
  [[maybe_unused]] const void* const used = &end;
  std::lock_guard<std::mutex> lock(mutex_);
  if (ends_) return false;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Work(); });
    } catch (const std::system_error&) {
      return false;
    }
    // Handles exit() in another thread. Drivers are loaded already, so most of their handlers run
    // after this one.
    std::atexit([] { OfProcess().End(); });
  }
  tasks_.push_back(std::move(task));
  changed_.notify_all();
  return true;
}

void Background::Work() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(ThisThread()), kNiceness);
  while (true) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (!AwaitTurn(&lock)) return;
      task = TakeNext();
    }
    if (task.run) task.run([this] { return MayContinue(); });
  }
}

Background::Task Background::TakeNext() {
  size_t next = tasks_.size();
  double greatest = -1;
  std::vector<bool> is_wanted;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    const double urgency = tasks_[t].urgency();
    is_wanted.push_back(urgency >= 0);
    if (urgency <= greatest) continue;
    greatest = urgency;
    next = t;
  }
  Task taken;
  std::vector<Task> left;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    if (t == next) {
      taken = std::move(tasks_[t]);
    } else if (is_wanted[t]) {
      left.push_back(std::move(tasks_[t]));
    }
  }
  tasks_ = std::move(left);
  return taken;
}

bool Background::AwaitTurn(std::unique_lock<std::mutex>* lock) {
  while (!ends_ && !IdleTime::OfProcess().MayWork()) changed_.wait_for(*lock, kBetweenLooks);
  return !ends_;
}

bool Background::MayContinue() {
  std::unique_lock<std::mutex> lock(mutex_);
  return AwaitTurn(&lock);
}

void Background::End() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  // A compiler that gives up calls exit in the compiling thread.
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace tartan::api
