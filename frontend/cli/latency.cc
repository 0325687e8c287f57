// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/latency.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tartan::cli {
namespace {

double Percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

}  // namespace

LatencySummary Summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  LatencySummary summary;
  summary.median = Percentile(samples, 0.5);
  summary.p90 = Percentile(samples, 0.9);
  summary.p99 = Percentile(samples, 0.99);
  summary.min = samples.front();
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / samples.size();
  return summary;
}

}  // namespace tartan::cli
