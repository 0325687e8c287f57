// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/background/idle_time.h"

#include <algorithm>
#include <thread>

#include "tile/base/clock.h"

namespace tartan::api {

IdleTime& IdleTime::OfProcess() {
  // Never destroyed, because threads that outlive main may still use it.
  static IdleTime& time = *new IdleTime(static_cast<int>(std::thread::hardware_concurrency()),
                                        [] { return Duration(Clock::now().time_since_epoch()); });
  return time;
}

bool IdleTime::MayWork() {
  std::lock_guard<std::mutex> lock(mutex_);
  return Update();
}

bool IdleTime::Update() {
  bool may_work = holds_ == 0;
  if (may_work && has_few_processors()) {
    const Duration now = now_();
    if (runs_ > 0 || now - last_end_ < kPause) {
      may_work = static_cast<double>((now % kPeriod).count()) <
                 kShare * static_cast<double>(kPeriod.count());
    }
  }
  for (Worker* worker : workers_) {
    if (worker->goes_on_ == may_work) continue;
    worker->set_(may_work);
    worker->goes_on_ = may_work;
  }
  return may_work;
}

void IdleTime::Begin(int* count) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++*count;
  if (!workers_.empty()) Update();
}

void IdleTime::End(int* count) {
  std::lock_guard<std::mutex> lock(mutex_);
  --*count;
  if (count == &runs_ && has_few_processors()) last_end_ = now_();
}

IdleTime::Worker::Worker(IdleTime& time, Set set) : time_(time), set_(std::move(set)) {
  std::lock_guard<std::mutex> lock(time_.mutex_);
  time_.workers_.push_back(this);
  time_.Update();
}

IdleTime::Worker::~Worker() {
  std::lock_guard<std::mutex> lock(time_.mutex_);
  auto& workers = time_.workers_;
  workers.erase(std::find(workers.begin(), workers.end(), this));
}

}  // namespace tartan::api
