// SPDX-License-Identifier: Apache-2.0
// Calls a function for several arguments at once.
#pragma once

#include <future>
#include <utility>
#include <vector>

namespace tartan {

// Returns make(0), ..., make(count - 1). The calls run on a thread each, the first one on the
// caller's; they run one after another if the process cannot start threads.
template <typename Make>
auto ParallelMap(int count, const Make& make) -> std::vector<decltype(make(0))> {
  std::vector<std::future<decltype(make(0))>> others;
  for (int i = 1; i < count; ++i) others.push_back(std::async([&make, i] { return make(i); }));
  std::vector<decltype(make(0))> results;
  if (count > 0) results.push_back(make(0));
  for (auto& other : others) results.push_back(other.get());
  return results;
}

}  // namespace tartan
