// SPDX-License-Identifier: Apache-2.0
// Builds step sequences with rematerialization: some values are computed a second time just before
// a late reader, and need no memory in between.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"
#include "tile/compiler/memory/lifetimes.h"

namespace tartan::compiler {

// Frees `buffer` after `step`. Later readers have it recomputed.
struct Drop {
  int step = 0;
  int buffer = 0;

  auto operator<=>(const Drop&) const = default;
};

// Steps in execution order, with their buffers. The list's own buffers come first, then copies.
struct StepSequence {
  struct Placed {
    int step = 0;  // step of the list that is executed
    int slot = 0;  // step of the list that needs it: itself, or a later one
    // Position in StepSequence::used of this step's buffers, ordered as Rematerializer::used(step).
    int used = 0;
  };

  std::vector<Placed> steps;
  std::vector<int> used;            // buffers of all steps
  std::vector<int> origin;          // per buffer: itself, or the buffer that it is a copy of
  std::vector<Lifetime> lifetimes;  // per buffer
  double us = 0;                    // microseconds of the recomputed steps
};

// Recomputes buffers with all steps that write them.
// Steps that write several buffers recompute all of them, into copies, in the original order. A
// buffer is not recomputed after its sources have changed, and states are never recomputed.
class Rematerializer {
 public:
  // `us`: microseconds of each step. The list must outlive this object and must not change.
  Rematerializer(const KernelList& list, std::vector<double> us);

  // Buffers that a step reads or writes, each once, in ascending order.
  const std::vector<int>& used(int step) const { return uses_[step].buffers; }
  bool CanDrop(const Drop& drop) const;
  // Microseconds to recompute a droppable buffer if all its sources are live.
  double MicrosecondsFor(int buffer) const;

  // Returns nothing if some buffer cannot be recomputed where it is needed.
  std::optional<StepSequence> Sequence(const std::set<Drop>& drops) const;
  // Returns the list with the steps of a sequence.
  KernelList ListOf(const StepSequence& sequence) const;

 private:
  class Walk;
  struct Use {
    std::vector<int> buffers;
    std::vector<bool> is_written;
  };
  // Buffers that share writing steps, transitively; they are recomputed together.
  struct Group {
    std::vector<int> members;
    std::vector<int> steps;
    bool can_be_rematerialized = true;
    double us = 0;
  };

  void FindGroups();
  void CheckGroups();
  // Returns true if a step between `after` and `before` (both excluded) writes the buffer.
  bool Changes(int buffer, int after, int before) const;

  const KernelList& list_;
  const std::vector<double> us_;
  std::vector<Use> uses_;                  // by step
  std::vector<std::vector<int>> writers_;  // by buffer, in order
  std::vector<int> group_;                 // by buffer; -1 if no step writes it
  std::vector<Group> groups_;
  std::vector<bool> is_read_by_caller_;  // by buffer
};

}  // namespace tartan::compiler
