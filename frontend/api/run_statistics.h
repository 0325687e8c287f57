// SPDX-License-Identifier: Apache-2.0
// Times and counts of a run.
#pragma once

#include <cstdint>

#include "tile/evaluator/kernel_time.h"

namespace tartan::api {

struct RunStatistics {
  double bind_ms = 0;  // import of the graph for these shapes
  // Tile compiler and device compiler, including kernels that a driver compiles at their first
  // launch; nearly 0 if already compiled.
  double compile_ms = 0;
  double setup_ms = 0;    // copying weights to the device, and work on constants
  double latency_ms = 0;  // inputs to the device, kernels, outputs back
  int64_t kernels = 0;    // launches per run
  // Programs of the run by kind of kernel: exact (shape-specialised), or ready (dynamic-shape, with
  // sizes as arguments). A session that does not wait for exact kernels starts with ready ones.
  int64_t exact_programs = 0;
  int64_t ready_programs = 0;
  int64_t host_programs = 0;  // small programs that the host computes without kernels
  int64_t cache_hits = 0;     // programs found compiled on disk
  int64_t cache_misses = 0;   // programs compiled
  // Times that memory was exhausted. The session then evicts programs in LRU order and retries.
  int64_t memory_shortages = 0;
};

using KernelProfile = evaluator::KernelTime;

}  // namespace tartan::api
