// SPDX-License-Identifier: Apache-2.0
// What a run took.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::api {

struct RunStatistics {
  double bind_ms = 0;  // import of the graph for these shapes
  // Tile compiler and device compiler, kernels that a driver compiles when they first run included;
  // nearly 0 when already compiled.
  double compile_ms = 0;
  double setup_ms = 0;    // weights to the device and work on constants
  double latency_ms = 0;  // inputs to the device, kernels, outputs back
  int64_t kernels = 0;    // launched per run
  // Programs of the run, by their kernels: for these sizes alone, or with sizes as arguments. A
  // session that does not wait for exact kernels begins with ready ones.
  int64_t exact_programs = 0;
  int64_t ready_programs = 0;
  int64_t host_programs = 0;  // of little work, which the host does without a kernel
  int64_t cache_hits = 0;     // programs found compiled on disk
  int64_t cache_misses = 0;   // programs compiled
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
