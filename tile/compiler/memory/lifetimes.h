// SPDX-License-Identifier: Apache-2.0
// Lifetimes of buffers within a run, and the peak memory use that follows from them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Steps during which a buffer must keep its contents: `first` to `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

// Values of Lifetime::first and Lifetime::last of inputs and outputs.
inline constexpr int kBeforeFirstStep = -1;
inline constexpr int kAfterLastStep = std::numeric_limits<int>::max();

// Returns true for buffers whose contents belong to one execution: not states, and not load-time
// values.
bool IsOfRun(BufferKind kind);

// Returns one lifetime per buffer, for one run. Inputs are written before the first step, outputs
// read after the last. `first` > `last` if no step uses a buffer or it is not part of a run.
std::vector<Lifetime> LifetimesOf(const KernelList& list);

// Maximum of live bytes over all steps, and the step; 0 bytes at step -1 without steps.
struct PeakUse {
  int64_t bytes = 0;
  int step = -1;
};
PeakUse PeakOf(absl::Span<const Lifetime> lifetimes, int steps);

// Live bytes at the peak of a run, by purpose.
struct MemoryUse {
  int64_t inputs = 0;
  // Computed for the state's next value and read by other steps (saved activations).
  int64_t kept = 0;
  int64_t other = 0;  // outputs and other intermediates
};

// `state`: position of an input whose next value the forward pass computes, such as the running
// loss. -1: no bytes count as kept.
MemoryUse UseAtPeak(const KernelList& list, int state);

}  // namespace tartan::compiler
