// SPDX-License-Identifier: Apache-2.0
// When each buffer of a list must be there, and how much that is at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// A buffer that must hold its contents from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

inline constexpr int kBeforeFirstStep = -1;
inline constexpr int kAfterLastStep = std::numeric_limits<int>::max();

// Whether a buffer is of each run alone: what is known at load and states are not.
bool IsOfRun(BufferKind kind);

// Per buffer of the list, for one run of its steps. Inputs are written before the first step,
// outputs read after the last. `first` is behind `last` where nothing uses a buffer, or it is not
// of a run.
std::vector<Lifetime> LifetimesOf(const KernelList& list);

// The most bytes that are there during one step, and that step; 0 bytes at step -1 without any.
struct PeakUse {
  int64_t bytes = 0;
  int step = -1;
};
PeakUse PeakOf(absl::Span<const Lifetime> lifetimes, int steps);

// What is there at the peak of a run, by what it is for.
struct MemoryUse {
  int64_t inputs = 0;
  int64_t kept = 0;   // made on the way to the state's next value, and read by steps that are not
  int64_t other = 0;  // outputs, and what is on its way to the next steps
};

// `state`: the position among the list's inputs of the state whose next value the first part of a
// run makes, as what is told of the loss; -1: nothing counts as kept.
MemoryUse UseAtPeak(const KernelList& list, int state);

}  // namespace tartan::compiler
