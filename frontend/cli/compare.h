// SPDX-License-Identifier: Apache-2.0
// Compares a tensor with its expected value by the rule of numpy.testing.assert_allclose.
#pragma once

#include <string>

#include "frontend/api/value.h"

namespace tartan::cli {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

inline constexpr double kMaxTolerance = 1e30;  // maximum of both kinds of tolerance

struct Comparison {
  bool equal = true;
  std::string message;       // description of the difference; empty if equal
  double max_abs_error = 0;  // maximum over finite elements; infinite if only one side is finite
  double max_rel_error = 0;  // relative to the expected element, unless that is 0
};

// Types and shapes must be equal. An element matches if |actual - expected| <= absolute + relative
// * |expected|. NaN matches NaN, and an infinity matches itself. Unequal integers that round to the
// same double count as a difference of 1.
Comparison Compare(const HostTensor& actual, const HostTensor& expected, Tolerance tolerance);
// The same for any values. Strings must be equal; low-precision elements must be equal bit by bit,
// except NaN; sequences are compared element by element.
Comparison Compare(const api::HostValue& actual, const api::HostValue& expected,
                   Tolerance tolerance);

}  // namespace tartan::cli
