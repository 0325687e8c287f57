// SPDX-License-Identifier: Apache-2.0
// What a run took.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::api {

struct RunStatistics {
  double bind_ms = 0;        // import of the graph for these shapes
  double compile_ms = 0;     // Tile compiler and device compiler; 0 when already compiled
  double setup_ms = 0;       // weights to the device and work on constants
  double latency_ms = 0;     // inputs to the device, kernels, outputs back
  int64_t kernels = 0;       // launched per run
  int64_t cache_hits = 0;    // programs found compiled on disk
  int64_t cache_misses = 0;  // programs compiled
  // Times that memory was exhausted. A session then gives up what was not used longest and tries
  // again.
  int64_t memory_shortages = 0;
};

struct KernelProfile {
  std::string kernel;
  std::string description;
  double ms = 0;
  double flops = 0;
  double bytes = 0;
};

}  // namespace tartan::api
