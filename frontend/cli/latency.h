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

// Percentiles interpolate linearly between adjacent samples, as in NumPy. Requires one sample or
// more.
LatencySummary Summarize(std::vector<double> samples);

}  // namespace tartan::cli
