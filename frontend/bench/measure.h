// SPDX-License-Identifier: Apache-2.0
// Times engines side by side: in turns, so that what the machine does meanwhile hits all alike.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/bench/engine.h"

namespace tartan::bench {

struct MeasureOptions {
  double seconds = 0.5;  // for each engine
  int64_t count = 0;     // turns for each engine, instead of a time
};

struct Measurement {
  double median_ms = 0;  // of one run
  double min_ms = 0;
  int64_t runs = 0;
};

// In each turn every engine runs once to fetch its data into the caches, then for some milliseconds
// without a pause. One measurement per engine, in order.
absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<Engine* const> engines,
                                                 const MeasureOptions& options);

}  // namespace tartan::bench
