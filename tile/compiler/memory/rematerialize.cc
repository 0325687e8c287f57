// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/rematerialize.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"

namespace tartan::compiler {
namespace {

// Returns the root of a set in a union-find forest, with path halving.
int RootOf(int buffer, std::vector<int>* parents) {
  while ((*parents)[buffer] != buffer) {
    (*parents)[buffer] = (*parents)[(*parents)[buffer]];
    buffer = (*parents)[buffer];
  }
  return buffer;
}

bool MayBeCopied(BufferKind kind) {
  return kind == BufferKind::kTemporary || kind == BufferKind::kOutput;
}

}  // namespace

// Simulates one execution of the list, and inserts recomputed steps where buffers are missing.
class Rematerializer::Walk {
 public:
  Walk(const Rematerializer& rematerializer, const std::set<Drop>& drops)
      : rematerializer_(rematerializer), drops_(drops) {
    const KernelList& list = rematerializer.list_;
    const auto count = static_cast<int>(list.buffers.size());
    current_.resize(count);
    std::iota(current_.begin(), current_.end(), 0);
    copy_.assign(count, -1);
    is_being_made_.assign(rematerializer.groups_.size(), false);
    sequence_.origin = current_;
    for (int b = 0; b < count; ++b) {
      const BufferInfo& info = list.buffers[b];
      Lifetime& life = AddLifetime(info.bytes);
      if (info.kind == BufferKind::kInput) life.first = kBeforeFirstStep;
      if (info.kind == BufferKind::kOutput || rematerializer.is_read_by_caller_[b])
        life.last = kAfterLastStep;
    }
    sequence_.steps.reserve(list.steps.size() + drops.size());
  }

  std::optional<StepSequence> Run() && {
    auto drop = drops_.begin();
    for (int s = 0; s < static_cast<int>(rematerializer_.uses_.size()); ++s) {
      const Use& use = rematerializer_.uses_[s];
      for (size_t u = 0; u < use.buffers.size(); ++u) {
        if (!use.is_written[u] && !Need(use.buffers[u], s)) return std::nullopt;
      }
      Place(s, s, /*made=*/-1);
      for (; drop != drops_.end() && drop->step == s; ++drop) current_[drop->buffer] = -1;
    }
    return std::move(sequence_);
  }

 private:
  Lifetime& AddLifetime(int64_t bytes) {
    return sequence_.lifetimes.emplace_back(Lifetime{bytes, kAfterLastStep, kBeforeFirstStep});
  }

  // Ensures that a buffer is live before a step of the list; returns false if it cannot be
  // recomputed.
  bool Need(int buffer, int slot) {
    return current_[buffer] >= 0 || Rematerialize(rematerializer_.group_[buffer], slot);
  }

  bool Rematerialize(int number, int slot) {
    const Group& group = rematerializer_.groups_[number];
    if (is_being_made_[number]) return false;
    is_being_made_[number] = true;
    for (const int step : group.steps) {
      for (const int buffer : rematerializer_.uses_[step].buffers) {
        if (rematerializer_.group_[buffer] == number) continue;
        if (rematerializer_.Changes(buffer, step, slot) || !Need(buffer, slot)) return false;
      }
    }
    is_being_made_[number] = false;
    for (const int member : group.members) {
      copy_[member] = static_cast<int>(sequence_.origin.size());
      sequence_.origin.push_back(member);
      AddLifetime(rematerializer_.list_.buffers[member].bytes);
    }
    for (const int step : group.steps) Place(step, slot, number);
    for (const int member : group.members) {
      if (current_[member] < 0) current_[member] = copy_[member];
    }
    sequence_.us += group.us;
    return true;
  }

  // `made`: the group that is recomputed into copies; -1: a step in its original place.
  void Place(int step, int slot, int made) {
    const auto at = static_cast<int>(sequence_.steps.size());
    sequence_.steps.push_back({step, slot, static_cast<int>(sequence_.used.size())});
    for (const int buffer : rematerializer_.uses_[step].buffers) {
      int used = current_[buffer];
      if (made >= 0 && rematerializer_.group_[buffer] == made) used = copy_[buffer];
      // A step in its original place writes the list's own buffer.
      if (used < 0) used = buffer;
      sequence_.used.push_back(used);
      if (!IsOfRun(rematerializer_.list_.buffers[buffer].kind)) continue;
      Lifetime& life = sequence_.lifetimes[used];
      life.first = std::min(life.first, at);
      life.last = std::max(life.last, at);
    }
  }

  const Rematerializer& rematerializer_;
  const std::set<Drop>& drops_;
  std::vector<int> current_;  // by buffer of the list: the buffer with its contents; -1: dropped
  std::vector<int> copy_;     // by buffer: its latest copy
  std::vector<bool> is_being_made_;  // by group
  StepSequence sequence_;
};

Rematerializer::Rematerializer(const KernelList& list, std::vector<double> us)
    : list_(list), us_(std::move(us)), writers_(list.buffers.size()) {
  is_read_by_caller_.assign(list.buffers.size(), false);
  for (const int output : list.outputs) {
    if (IsOfRun(list.buffers[output].kind)) is_read_by_caller_[output] = true;
  }
  for (size_t s = 0; s < list.steps.size(); ++s) {
    const StepBuffers buffers = BuffersOf(list, list.steps[s]);
    const std::set<int> written(buffers.written.begin(), buffers.written.end());
    std::set<int> all(buffers.read.begin(), buffers.read.end());
    all.insert(written.begin(), written.end());
    Use& use = uses_.emplace_back();
    for (const int buffer : all) {
      use.buffers.push_back(buffer);
      use.is_written.push_back(written.count(buffer) > 0);
    }
    for (const int buffer : written) writers_[buffer].push_back(static_cast<int>(s));
  }
  FindGroups();
  CheckGroups();
}

void Rematerializer::FindGroups() {
  std::vector<int> parents(list_.buffers.size());
  std::iota(parents.begin(), parents.end(), 0);
  for (const Use& use : uses_) {
    int first = -1;
    for (size_t u = 0; u < use.buffers.size(); ++u) {
      if (!use.is_written[u]) continue;
      if (first < 0) first = use.buffers[u];
      parents[RootOf(use.buffers[u], &parents)] = RootOf(first, &parents);
    }
  }
  group_.assign(list_.buffers.size(), -1);
  for (size_t b = 0; b < group_.size(); ++b) {
    if (writers_[b].empty()) continue;
    const int root = RootOf(static_cast<int>(b), &parents);
    if (group_[root] < 0) {
      group_[root] = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    group_[b] = group_[root];
    Group& group = groups_[group_[b]];
    group.members.push_back(static_cast<int>(b));
    group.steps.insert(group.steps.end(), writers_[b].begin(), writers_[b].end());
  }
  for (Group& group : groups_) {
    std::sort(group.steps.begin(), group.steps.end());
    group.steps.erase(std::unique(group.steps.begin(), group.steps.end()), group.steps.end());
    for (const int step : group.steps) group.us += us_[step];
  }
}

// Only a buffer whose readers all come after its last writer can be replaced by a copy.
void Rematerializer::CheckGroups() {
  for (const Group& group : groups_) {
    const bool are_copied =
        std::all_of(group.members.begin(), group.members.end(),
                    [&](int member) { return MayBeCopied(list_.buffers[member].kind); });
    if (!are_copied) groups_[group_[group.members.front()]].can_be_rematerialized = false;
  }
  for (size_t s = 0; s < uses_.size(); ++s) {
    for (size_t u = 0; u < uses_[s].buffers.size(); ++u) {
      const int buffer = uses_[s].buffers[u];
      if (uses_[s].is_written[u] || group_[buffer] < 0) continue;
      Group& group = groups_[group_[buffer]];
      const bool is_own = std::binary_search(group.steps.begin(), group.steps.end(), int(s));
      if (!is_own && writers_[buffer].back() > static_cast<int>(s))
        group.can_be_rematerialized = false;
    }
  }
}

bool Rematerializer::Changes(int buffer, int after, int before) const {
  const std::vector<int>& writers = writers_[buffer];
  const auto next = std::upper_bound(writers.begin(), writers.end(), after);
  return next != writers.end() && *next < before;
}

bool Rematerializer::CanDrop(const Drop& drop) const {
  if (list_.buffers[drop.buffer].kind != BufferKind::kTemporary || group_[drop.buffer] < 0)
    return false;
  const Group& group = groups_[group_[drop.buffer]];
  return group.can_be_rematerialized && !is_read_by_caller_[drop.buffer] &&
         drop.step >= group.steps.back();
}

double Rematerializer::MicrosecondsFor(int buffer) const { return groups_[group_[buffer]].us; }

std::optional<StepSequence> Rematerializer::Sequence(const std::set<Drop>& drops) const {
  return Walk(*this, drops).Run();
}

KernelList Rematerializer::ListOf(const StepSequence& sequence) const {
  KernelList list = list_;
  for (size_t b = list.buffers.size(); b < sequence.origin.size(); ++b) {
    BufferInfo info = list.buffers[sequence.origin[b]];
    info.kind = BufferKind::kTemporary;
    absl::StrAppend(&info.name, "_again");
    list.buffers.push_back(std::move(info));
  }
  list.steps.clear();
  for (const StepSequence::Placed& placed : sequence.steps) {
    const std::vector<int>& own = used(placed.step);
    const auto replace = [&](int& buffer) {
      const auto at = std::lower_bound(own.begin(), own.end(), buffer) - own.begin();
      buffer = sequence.used[placed.used + at];
    };
    Match(
        list.steps.emplace_back(list_.steps[placed.step]),
        [&](LaunchStep& launch) {
          std::for_each(launch.buffers.begin(), launch.buffers.end(), replace);
          if (placed.slot != placed.step)
            launch.description = absl::StrCat("recomputed ", launch.description);
        },
        [&](FillStep& fill) { replace(fill.buffer); },
        [&](CopyStep& copy) {
          replace(copy.from);
          replace(copy.to);
        });
  }
  return list;
}

}  // namespace tartan::compiler
