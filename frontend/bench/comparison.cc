// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tartan::bench {

double MaxError(const HostTensor& actual, const HostTensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.element_count() != expected.element_count()) return kInfinity;
  double difference = 0;
  double magnitude = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = actual.GetDouble(i);
    const double e = expected.GetDouble(i);
    if (std::isnan(a) != std::isnan(e)) return kInfinity;
    if (std::isnan(e) || a == e) continue;
    difference = std::max(difference, std::abs(a - e));
    magnitude = std::max(magnitude, std::abs(e));
  }
  if (difference == 0) return 0;
  return magnitude == 0 ? kInfinity : difference / magnitude;
}

}  // namespace tartan::bench
