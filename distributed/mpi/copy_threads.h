// SPDX-License-Identifier: Apache-2.0
// Threads that share the work on large ranges of host memory, which one core cannot move as fast as
// the memory allows. Part of the MPI plug-in.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tartan::distributed {

class CopyThreads {
 public:
  // The caller is one of the `count` threads.
  explicit CopyThreads(int count) {
    for (int part = 1; part < count; ++part) threads_.emplace_back([this, part] { Work(part); });
  }
  ~CopyThreads() {
    work_ = nullptr;
    Start();
    for (std::thread& thread : threads_) thread.join();
  }
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  // Calls `work` for ranges that cover [first, last), and waits.
  void Divide(int64_t first, int64_t last,
              const std::function<void(int64_t first, int64_t last)>& work) {
    if (threads_.empty() || last - first < kFewest) return work(first, last);
    first_ = first;
    last_ = last;
    work_ = &work;
    pending_ = static_cast<int>(threads_.size());
    Start();
    DoPart(0);
    for (int left = pending_; left != 0; left = pending_) pending_.wait(left);
  }

 private:
  static constexpr int64_t kFewest = 1 << 14;  // elements that are worth a second thread

  void Start() {
    ++round_;
    round_.notify_all();
  }
  void DoPart(int part) {
    const int64_t parts = static_cast<int64_t>(threads_.size()) + 1;
    const int64_t count = last_ - first_;
    (*work_)(first_ + count * part / parts, first_ + count * (part + 1) / parts);
  }
  void Work(int part) {
    for (int round = 0;; ++round) {
      round_.wait(round);
      if (work_ == nullptr) return;
      DoPart(part);
      if (--pending_ == 0) pending_.notify_all();
    }
  }

  // Written by the caller while the threads wait.
  const std::function<void(int64_t first, int64_t last)>* work_ = nullptr;
  int64_t first_ = 0;
  int64_t last_ = 0;
  std::atomic<int> round_{0};
  std::atomic<int> pending_{0};
  std::vector<std::thread> threads_;
};

}  // namespace tartan::distributed
