// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tartan::api {
namespace {

// Beside threads of usual priority that want all of a processor, three tenths of it.
constexpr int kNiceness = 4;

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

void SetNiceness(int niceness) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(ThisThread()), niceness);
}

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
  SetNiceness(kNiceness);
  while (true) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || (!tasks_.empty() && pauses_ == 0); });
      if (ends_) return;
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

bool Background::GoesOn() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return ends_ || pauses_ == 0; });
  return !ends_;
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

Background::Pause::Pause() {
  Background& background = OfProcess();
  std::lock_guard<std::mutex> lock(background.mutex_);
  ++background.pauses_;
}

Background::Pause::~Pause() {
  Background& background = OfProcess();
  {
    std::lock_guard<std::mutex> lock(background.mutex_);
    --background.pauses_;
  }
  background.changed_.notify_all();
}

}  // namespace tartan::api
