// SPDX-License-Identifier: Apache-2.0
// What training has on the device, by what it is for.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::train {

struct TrainingMemory {
  int64_t parameters = 0;  // bytes, with running statistics
  int64_t state = 0;       // averages of the optimiser, sums of gradients
  int64_t constants = 0;   // what is not trained
  // Of the step that needs most of those that were compiled:
  int64_t batch = 0;    // inputs, target, rate
  int64_t kept = 0;     // values of the forward pass that gradients need
  int64_t scratch = 0;  // values on the way, and what lies idle between them
  // What a budget costs that step: work that is done again, so that its results need not be kept.
  int recomputed_steps = 0;
  double recomputed_ms = 0;      // as predicted
  int64_t recomputed_bytes = 0;  // that it saves

  int64_t total() const { return parameters + state + constants + batch + kept + scratch; }
};

// "parameters 12, optimizer 24, kept values 80, …" in bytes.
std::string Composition(const TrainingMemory& memory);

}  // namespace tartan::train
