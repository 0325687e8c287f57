// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated measurements.
#pragma once

#include <vector>

namespace tartan::cli {

struct LatencySummary {
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double min = 0;
  double mean = 0;
};

// Percentiles interpolate between neighbours, as NumPy's do. Requires at least one sample.
LatencySummary Summarize(std::vector<double> samples);

}  // namespace tartan::cli
