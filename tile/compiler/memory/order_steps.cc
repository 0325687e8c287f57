// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/order_steps.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tile/compiler/memory/lifetimes.h"

namespace tartan::compiler {
namespace {

// Dependence graph of the steps. With `backwards`, the graph is reversed: buffers that are live at
// the end are live at the start.
class StepGraph {
 public:
  StepGraph(const KernelList& list, bool backwards)
      : successors_(list.steps.size()), predecessors_(list.steps.size(), 0) {
    const auto count = static_cast<int>(list.steps.size());
    used_.reserve(list.steps.size());
    const std::vector<Lifetime> lifetimes = LifetimesOf(list);
    bytes_.resize(list.buffers.size());
    users_.assign(list.buffers.size(), 0);
    is_live_.assign(list.buffers.size(), false);
    for (size_t b = 0; b < list.buffers.size(); ++b) {
      const Lifetime& life = lifetimes[b];
      bytes_[b] = life.first <= life.last ? life.bytes : 0;
      const bool is_from_outside = life.first == kBeforeFirstStep;
      const bool is_for_outside = life.last == kAfterLastStep;
      is_live_[b] = backwards ? is_for_outside : is_from_outside;
      // The caller counts as one more user.
      users_[b] = (backwards ? is_from_outside : is_for_outside) ? 1 : 0;
    }
    std::vector<std::vector<int>> readers(list.buffers.size());  // readers since the last write
    std::vector<int> writer(list.buffers.size(), -1);
    for (int s = 0; s < count; ++s) {
      const StepBuffers buffers = BuffersOf(list, list.steps[s]);
      for (const int b : buffers.read) AddEdge(writer[b], s, backwards);
      for (const int b : buffers.written) {
        AddEdge(writer[b], s, backwards);
        for (const int reader : readers[b]) AddEdge(reader, s, backwards);
      }
      for (const int b : buffers.read) readers[b].push_back(s);
      for (const int b : buffers.written) {
        writer[b] = s;
        readers[b] = {s};
      }
      std::set<int> used(buffers.read.begin(), buffers.read.end());
      used.insert(buffers.written.begin(), buffers.written.end());
      for (const int b : used) ++users_[b];
      used_.emplace_back(used.begin(), used.end());
    }
  }

  // Greedy list scheduling: of the ready steps, the one that frees most memory runs first; if none
  // frees memory, the first one in the original order.
  std::vector<int> Order(bool backwards) && {
    const auto count = static_cast<int>(used_.size());
    std::set<int> ready;
    for (int s = 0; s < count; ++s) {
      if (predecessors_[s] == 0) ready.insert(backwards ? -s : s);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      auto best = ready.begin();
      int64_t least = 0;
      for (auto candidate = ready.begin(); candidate != ready.end(); ++candidate) {
        const int64_t growth = Growth(std::abs(*candidate));
        if (growth >= least) continue;
        least = growth;
        best = candidate;
      }
      const int step = std::abs(*best);
      ready.erase(best);
      order.push_back(step);
      for (const int b : used_[step]) {
        is_live_[b] = true;
        --users_[b];
      }
      for (const int next : successors_[step]) {
        if (--predecessors_[next] == 0) ready.insert(backwards ? -next : next);
      }
    }
    if (backwards) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  void AddEdge(int before, int after, bool backwards) {
    if (before < 0 || before == after) return;
    if (backwards) std::swap(before, after);
    successors_[before].push_back(after);
    ++predecessors_[after];
  }

  // Returns the change of live bytes caused by a step.
  int64_t Growth(int step) const {
    int64_t growth = 0;
    for (const int b : used_[step]) {
      if (!is_live_[b]) growth += bytes_[b];
      if (users_[b] == 1) growth -= bytes_[b];
    }
    return growth;
  }

  std::vector<std::vector<int>> used_;  // buffers, by step
  std::vector<std::vector<int>> successors_;
  std::vector<int> predecessors_;  // number of predecessors that have not run, by step
  std::vector<int64_t> bytes_;     // by buffer
  std::vector<int> users_;         // number of users that have not run, by buffer
  std::vector<bool> is_live_;
};

std::vector<Step> Reordered(const std::vector<Step>& steps, const std::vector<int>& order) {
  std::vector<Step> result;
  result.reserve(steps.size());
  for (const int s : order) result.push_back(steps[s]);
  return result;
}

}  // namespace

void OrderSteps(KernelList* list) {
  const auto peak = [&] {
    return PeakOf(LifetimesOf(*list), static_cast<int>(list->steps.size())).bytes;
  };
  int64_t least = peak();
  bool is_backwards = false;
  // Alternates both directions until neither reduces the peak.
  for (int failures = 0; failures < 2; is_backwards = !is_backwards) {
    std::vector<Step> before = list->steps;
    const std::vector<int> order = StepGraph(*list, is_backwards).Order(is_backwards);
    list->steps = Reordered(before, order);
    const int64_t now = peak();
    if (now < least) {
      least = now;
      failures = 0;
    } else {
      list->steps = std::move(before);
      ++failures;
    }
  }
}

}  // namespace tartan::compiler
