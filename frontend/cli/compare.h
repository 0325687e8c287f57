// SPDX-License-Identifier: Apache-2.0
// Whether a tensor is what was expected, as numpy.testing.assert_allclose sees it.
#pragma once

#include <string>

#include "frontend/api/value.h"

namespace tartan::cli {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

inline constexpr double kMaxTolerance = 1e30;  // of either kind

struct Comparison {
  bool equal = true;
  std::string message;       // what differs; empty when equal
  double max_abs_error = 0;  // over finite elements; infinite where only one side is finite
  double max_rel_error = 0;  // relative to the expected element, where that is not 0
};

// Types and shapes must be equal. Integers beyond 2^53 that are equal as bits are equal. An element
// fits when |actual - expected| <= absolute + relative * |expected|; NaN fits NaN, an infinity
// itself.
Comparison Compare(const HostTensor& actual, const HostTensor& expected, Tolerance tolerance);
// The same for any values: strings must be equal, narrow numbers in every bit but for NaN;
// sequences element by element.
Comparison Compare(const api::HostValue& actual, const api::HostValue& expected,
                   Tolerance tolerance);

}  // namespace tartan::cli
