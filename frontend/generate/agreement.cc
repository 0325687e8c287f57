// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/agreement.h"

#include <algorithm>
#include <cmath>

namespace tartan::generate {

double ToleranceOf(const std::vector<GrowingState>& states) {
  for (const GrowingState& state : states) {
    if (ByteWidth(state.empty.type) < 4) return 2e-2;
  }
  return 1e-3;
}

bool Agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  if (a.size() != b.size() || a.empty()) return false;
  double least = a[0];
  double most = a[0];
  for (const float score : a) {
    if (!std::isfinite(score)) continue;
    least = std::min<double>(least, score);
    most = std::max<double>(most, score);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= tolerance * (most - least))) return false;
  }
  return true;
}

bool RowsAgree(const std::vector<GrowingState>& states, absl::Span<const HostTensor> a,
               absl::Span<const HostTensor> b, int64_t first) {
  for (size_t s = 0; s < states.size(); ++s) {
    if (a[s].shape() != b[s].shape()) return false;
    const int64_t axis = states[s].axis;
    const int64_t count = a[s].shape().dims[static_cast<size_t>(axis)] - first;
    const std::vector<double> left = RowsOf(a[s], axis, first, count).ToDoubles();
    const std::vector<double> right = RowsOf(b[s], axis, first, count).ToDoubles();
    if (!Agree({left.begin(), left.end()}, {right.begin(), right.end()}, ToleranceOf(states))) {
      return false;
    }
  }
  return true;
}

}  // namespace tartan::generate
