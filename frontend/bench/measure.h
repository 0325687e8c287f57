// SPDX-License-Identifier: Apache-2.0
// Times engines alternately, so that disturbances of the machine affect all of them alike.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/bench/engine.h"

namespace tartan::bench {

struct MeasureOptions {
  double seconds = 0.5;  // measuring time per engine
  int64_t count = 0;     // turns per engine, instead of a time
};

struct Measurement {
  double median_ms = 0;  // time per run
  double min_ms = 0;
  int64_t runs = 0;
};

// Runs each engine once per turn to fill the caches, then for several milliseconds without a pause.
// Returns one measurement per engine, in order.
absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<Engine* const> engines,
                                                 const MeasureOptions& options);

}  // namespace tartan::bench
