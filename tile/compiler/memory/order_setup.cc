// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/order_setup.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace tartan::compiler {
namespace {

// Per step, the earlier steps that must stay before it.
std::vector<std::vector<size_t>> Predecessors(const KernelList& list, std::vector<bool>* is_read) {
  std::vector<std::vector<size_t>> predecessors(list.setup.size());
  std::vector<std::vector<size_t>> writers(list.buffers.size());
  std::vector<std::vector<size_t>> readers(list.buffers.size());
  for (size_t s = 0; s < list.setup.size(); ++s) {
    const StepBuffers used = BuffersOf(list, list.setup[s]);
    const auto after = [&](const std::vector<size_t>& steps) {
      predecessors[s].insert(predecessors[s].end(), steps.begin(), steps.end());
    };
    for (const int b : used.read) {
      after(writers[b]);
      for (const size_t writer : writers[b]) (*is_read)[writer] = true;
    }
    for (const int b : used.written) {
      after(readers[b]);
      after(writers[b]);
    }
    for (const int b : used.read) readers[b].push_back(s);
    for (const int b : used.written) writers[b].push_back(s);
  }
  return predecessors;
}

}  // namespace

void OrderSetup(KernelList* list) {
  std::vector<bool> is_read(list->setup.size(), false);  // by another setup step
  const std::vector<std::vector<size_t>> predecessors = Predecessors(*list, &is_read);
  std::vector<Step> ordered;
  std::vector<bool> is_done(list->setup.size(), false);
  // A step follows its predecessors immediately. The stack is explicit, because dependence chains
  // may be as long as the program.
  struct Visit {
    size_t step;
    size_t next = 0;  // next predecessor to visit
  };
  std::vector<Visit> open;
  for (size_t s = 0; s < list->setup.size(); ++s) {
    if (!is_read[s] && !is_done[s]) open.push_back({s});
    while (!open.empty()) {
      Visit& visit = open.back();
      if (visit.next < predecessors[visit.step].size()) {
        const size_t before = predecessors[visit.step][visit.next++];
        if (!is_done[before]) open.push_back({before});
        continue;
      }
      if (!is_done[visit.step]) ordered.push_back(std::move(list->setup[visit.step]));
      is_done[visit.step] = true;
      open.pop_back();
    }
  }
  list->setup = std::move(ordered);
}

}  // namespace tartan::compiler
