// SPDX-License-Identifier: Apache-2.0
// Checks a derivative against difference quotients of a function with known values, which may have
// kinks. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::train {

enum class GradCheckStatus : uint8_t {
  kOk,
  kDiffers,
  kKink,  // the outputs have no derivative at any tested point
  kNone,  // no path to the outputs has a derivative at every operation
};
// "ok", "differs", "kink", "none".
absl::string_view Name(GradCheckStatus status);

struct DerivativeCheck {
  GradCheckStatus status = GradCheckStatus::kKink;
  double difference = 0;
  // Maximum magnitude of derivative, quotient and `usual`; 0 if rounding dominates.
  double greatest = 0;
};

struct DerivativeCheckOptions {
  double tolerance = 1e-5;  // relative
  double usual = 0;         // usual magnitude of derivatives; errors far below it do not count
  double rounding = 0;      // rounding error of a difference of two values
};

// Checks that `derivative` is the derivative of f at 0. `moved(x)` returns f(x) - f(0).
//
// Steps are as small as rounding allows, so that few kinks of a sum of many terms are within a
// step. The difference of the one-sided quotients estimates the effect of kinks and curvature on a
// quotient. The status is kDiffers only if the derivative is off by more than that, at two steps.
absl::StatusOr<DerivativeCheck> CheckDerivative(
    const std::function<absl::StatusOr<double>(double)>& moved, double derivative,
    const DerivativeCheckOptions& options);

}  // namespace tartan::train
