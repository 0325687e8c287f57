// SPDX-License-Identifier: Apache-2.0
// A base class of caches of the process.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <mutex>

namespace tartan {

// A cache of the process. No other thread holds its lock while the process forks, because the child
// lacks that thread.
template <class Cache>
class ProcessCache {
 public:
  static Cache& OfProcess() {
    static auto* const cache = Make();
    return *cache;
  }

 protected:
  static constexpr size_t kCapacity = 4096;
  std::mutex mutex_;

 private:
  static std::mutex& Mutex() { return static_cast<ProcessCache&>(OfProcess()).mutex_; }

  static Cache* Make() {
    const auto unlock = [] { Mutex().unlock(); };
    // It fails only without memory, and forks are as safe then as they were.
    pthread_atfork([] { Mutex().lock(); }, unlock, unlock);
    return new Cache();
  }
};

}  // namespace tartan
