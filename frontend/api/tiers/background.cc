// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/background.h"

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

// Compared with a thread of usual priority on the same processor: three tenths of its time. The
// thread takes locks for moments that runs need too, which a thread of the lowest priority might
// keep for long on a busy machine. What it compiles in other processes has that priority at first
// (compiler_process.h).
constexpr int kNiceness = 4;
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

// Before exit calls any handler, it destroys what belongs to its thread. Compilers register
// handlers while they compile: those run ahead of one that was registered before, and leave a
// thread that still compiles without what it needs.
struct Background::EndBeforeHandlers {
  ~EndBeforeHandlers() {
    if (ThisThread() == getpid()) Background::OfProcess().End();
  }
};

Background& Background::OfProcess() {
  // Never destroyed: threads that outlive main may still use it.
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
    // Where another thread exits: drivers are loaded, and most of what they do then comes after
    // this.
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
    if (task.run) task.run([this] { return GoesOn(); });
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

bool Background::GoesOn() {
  std::unique_lock<std::mutex> lock(mutex_);
  return AwaitTurn(&lock);
}

void Background::End() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  // A compiler that gives up calls exit in the thread that compiles.
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace tartan::api
