// SPDX-License-Identifier: Apache-2.0
// Device memory of training by purpose.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::train {

struct TrainingMemory {
  int64_t parameters = 0;  // bytes of parameters, including running statistics
  int64_t state = 0;       // optimiser averages, sums of gradients
  int64_t constants = 0;   // values that are not trained
  // Scratch of the compiled step that needs most.
  int64_t batch = 0;    // inputs, target, rate
  int64_t kept = 0;     // forward values that gradients need
  int64_t scratch = 0;  // intermediate values and unused gaps
  // The cost of a memory budget for that step: values that are recomputed instead of stored.
  int recomputed_steps = 0;
  double recomputed_ms = 0;      // predicted time of recomputation
  int64_t recomputed_bytes = 0;  // bytes saved

  int64_t total() const { return parameters + state + constants + batch + kept + scratch; }
};

// Formats as "parameters 12, optimizer 24, kept values 80, …" in bytes.
std::string Composition(const TrainingMemory& memory);

}  // namespace tartan::train
