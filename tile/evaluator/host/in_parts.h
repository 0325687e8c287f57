// SPDX-License-Identifier: Apache-2.0
// Divides a loop nest between threads of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tile/evaluator/host/loop_nest.h"

namespace tartan::evaluator {

// A loop whose points may be visited by several threads, as groups of `multiple` points. If the
// nest has no such loop, it is not divided.
struct DivisibleLoop {
  size_t loop = 0;
  int64_t multiple = 1;
};

// The longest of the first `outer` loops, or none.
DivisibleLoop LongestLoop(const std::vector<HostLoop>& loops, size_t outer);

// Calls `visit` once for each part of the nest, in threads, and waits for them. There is one part
// if the processor has one core, or if `nanoseconds`, the time of the nest on one core, is short.
void VisitInParts(const LoopNest& nest, DivisibleLoop divisible, double nanoseconds,
                  const std::function<void(const LoopNest&)>& visit);

}  // namespace tartan::evaluator
