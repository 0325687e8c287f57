// SPDX-License-Identifier: Apache-2.0
// A derivative beside difference quotients of a function that is known by its values alone, which
// may have corners. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::train {

enum class GradCheckStatus : uint8_t {
  kOk,
  kDiffers,
  kKink,  // wherever it was looked at, the outputs have no derivative
  kNone,  // the outputs depend on it by no path on which every operation has a derivative
};
// "ok", "differs", "kink", "none".
absl::string_view Name(GradCheckStatus status);

struct DerivativeCheck {
  GradCheckStatus status = GradCheckStatus::kKink;
  double difference = 0;
  double greatest = 0;  // of the derivative, the quotient and `usual`; 0 where rounding is more
};

struct DerivativeCheckOptions {
  double tolerance = 1e-5;  // relative
  double usual = 0;         // a size that derivatives have; errors far below it do not count
  double rounding = 0;      // of a difference of two values
};

// Whether `derivative` is that of f at 0. `moved(x)` gives f(x) - f(0).
//
// Steps are as small as rounding allows: a sum of many terms with corners is seen between them
// then. How the quotients to either side differ tells what corners, and curvature, make of a
// quotient; only a derivative that is further off, at two steps, differs.
absl::StatusOr<DerivativeCheck> CheckDerivative(
    const std::function<absl::StatusOr<double>(double)>& moved, double derivative,
    const DerivativeCheckOptions& options);

}  // namespace tartan::train
