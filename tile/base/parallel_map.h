// SPDX-License-Identifier: Apache-2.0
// Calls a function for several arguments on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace tartan {

// Returns make(0), ..., make(count - 1), which several threads call in any order. The caller's is
// one of them, and the only one if the process cannot start more.
template <typename Make>
auto ParallelMap(int count, const Make& make) -> std::vector<decltype(make(0))> {
  std::vector<std::optional<decltype(make(0))>> made(count);
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) made[i].emplace(make(i));
  };
  const int processors = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  std::vector<std::future<void>> others;
  for (int t = 1; t < std::min(count, processors); ++t) others.push_back(std::async(work));
  work();
  for (std::future<void>& other : others) other.get();
  std::vector<decltype(make(0))> results;
  results.reserve(made.size());
  for (auto& result : made) results.push_back(*std::move(result));
  return results;
}

}  // namespace tartan
