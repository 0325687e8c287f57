// SPDX-License-Identifier: Apache-2.0
// The steps of a list with some of its values made twice: once where they are made anyway, and
// again just before a step that reads them late. In between they need no memory.
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

// After `step` what `buffer` holds is given up. Steps behind it have it made again.
struct Drop {
  int step = 0;
  int buffer = 0;

  auto operator<=>(const Drop&) const = default;
};

// Steps in order, with the buffers they use. Those of the list come first; copies of them follow.
struct StepSequence {
  struct Placed {
    int step = 0;  // of the list
    int slot = 0;  // the step of the list that it is done for; itself, or one behind it
    int used = 0;  // where in `used` there is what takes the places of StepRemaker::used(step)
  };

  std::vector<Placed> steps;
  std::vector<int> used;            // of all steps
  std::vector<int> origin;          // per buffer: which one of the list it is, or copies
  std::vector<Lifetime> lifetimes;  // per buffer
  double us = 0;                    // of the steps that are done again
};

// What writes a buffer is done again as a whole: all steps that write it, those that write what
// they write besides, and so on, in their order and into copies of all of that. A buffer is never
// made again after what it is made of has changed, nor where that is a state.
class StepRemaker {
 public:
  // `us`: how long each step takes. The list outlives the remaker and is not changed meanwhile.
  StepRemaker(const KernelList& list, std::vector<double> us);

  // The buffers that a step reads and writes, each once.
  const std::vector<int>& used(int step) const { return uses_[step].buffers; }
  bool CanDrop(const Drop& drop) const;
  // How long it takes to make a buffer that can be dropped, where all is there that it is made of.
  double MicrosecondsFor(int buffer) const;

  // Nothing where something cannot be made again where it is needed.
  std::optional<StepSequence> Sequence(const std::set<Drop>& drops) const;
  // The list with the steps of a sequence.
  KernelList ListOf(const StepSequence& sequence) const;

 private:
  class Walk;
  struct Use {
    std::vector<int> buffers;
    std::vector<bool> is_written;
  };
  // Buffers that are written by the same steps.
  struct Group {
    std::vector<int> members;
    std::vector<int> steps;
    bool can_be_remade = true;
    double us = 0;
  };

  void FindGroups();
  void CheckGroups();
  // Whether a step writes the buffer, behind `after` and before `before`.
  bool Changes(int buffer, int after, int before) const;

  const KernelList& list_;
  const std::vector<double> us_;
  std::vector<Use> uses_;                  // by step
  std::vector<std::vector<int>> writers_;  // by buffer, in order
  std::vector<int> group_;                 // by buffer; -1 where no step writes it
  std::vector<Group> groups_;
  std::vector<bool> is_read_by_caller_;  // by buffer
};

}  // namespace tartan::compiler
