// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/lifetimes.h"

#include <algorithm>

namespace tartan::compiler {

bool IsOfRun(BufferKind kind) {
  return kind == BufferKind::kInput || kind == BufferKind::kTemporary ||
         kind == BufferKind::kOutput;
}

std::vector<Lifetime> LifetimesOf(const KernelList& list) {
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(list.buffers.size());
  for (const BufferInfo& buffer : list.buffers) {
    Lifetime lifetime = {buffer.bytes, kAfterLastStep, kBeforeFirstStep};
    if (buffer.kind == BufferKind::kInput) lifetime.first = kBeforeFirstStep;
    if (buffer.kind == BufferKind::kOutput) lifetime.last = kAfterLastStep;
    lifetimes.push_back(lifetime);
  }
  // A view has no lifetime. Its uses are uses of its base.
  const auto owner = [&](int buffer) {
    const int base = list.buffers[buffer].base;
    return base < 0 ? buffer : base;
  };
  const auto use = [&](int used, int step) {
    const int buffer = owner(used);
    Lifetime& lifetime = lifetimes[buffer];
    if (!IsOfRun(list.buffers[buffer].kind)) return;
    lifetime.first = std::min(lifetime.first, step);
    lifetime.last = std::max(lifetime.last, step);
  };
  for (size_t s = 0; s < list.steps.size(); ++s) {
    const StepBuffers buffers = BuffersOf(list, list.steps[s]);
    for (const int buffer : buffers.read) use(buffer, static_cast<int>(s));
    for (const int buffer : buffers.written) use(buffer, static_cast<int>(s));
  }
  // An input that is returned as an output must survive the run.
  for (const int output : list.outputs) {
    const int buffer = owner(output);
    if (IsOfRun(list.buffers[buffer].kind)) lifetimes[buffer].last = kAfterLastStep;
  }
  return lifetimes;
}

PeakUse PeakOf(absl::Span<const Lifetime> lifetimes, int steps) {
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& life : lifetimes) {
    if (life.first > life.last) continue;
    const int first = std::clamp(life.first, 0, steps);
    const int end = life.last >= steps ? steps : life.last + 1;
    change[first] += life.bytes;
    change[end] -= life.bytes;
  }
  PeakUse peak;
  int64_t live = 0;
  for (int s = 0; s < steps; ++s) {
    live += change[s];
    if (live > peak.bytes) peak = {live, s};
  }
  return peak;
}

MemoryUse UseAtPeak(const KernelList& list, int state) {
  const size_t count = list.buffers.size();
  std::vector<bool> is_needed(count, false);  // read by steps that lead to the state
  std::vector<bool> is_made_early(count, false);
  std::vector<bool> is_read_late(count, false);
  if (state >= 0) is_needed[list.inputs[state]] = true;
  for (size_t s = list.steps.size(); s-- > 0 && state >= 0;) {
    const StepBuffers buffers = BuffersOf(list, list.steps[s]);
    const bool is_early = std::any_of(buffers.written.begin(), buffers.written.end(),
                                      [&](int buffer) { return is_needed[buffer]; });
    for (const int buffer : buffers.written) {
      if (is_early) is_made_early[buffer] = true;
    }
    for (const int buffer : buffers.read) (is_early ? is_needed : is_read_late)[buffer] = true;
  }
  const std::vector<Lifetime> lifetimes = LifetimesOf(list);
  const int peak = PeakOf(lifetimes, static_cast<int>(list.steps.size())).step;
  MemoryUse use;
  for (size_t b = 0; b < count; ++b) {
    if (lifetimes[b].first > peak || lifetimes[b].last < peak) continue;
    const bool is_input = list.buffers[b].kind == BufferKind::kInput;
    const bool is_kept = is_made_early[b] && is_read_late[b];
    (is_input ? use.inputs : is_kept ? use.kept : use.other) += lifetimes[b].bytes;
  }
  return use;
}

}  // namespace tartan::compiler
