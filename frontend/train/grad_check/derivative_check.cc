// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/grad_check/derivative_check.h"

#include <algorithm>
#include <cmath>

#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr double kMinStep = 1e-7;
constexpr double kMaxStep = 1e-3;
// Factors of the first step: smaller ones against kinks, larger ones against rounding.
constexpr double kStepFactors[] = {1, 0.1, 0.01, 10, 100};
// Maximum relative difference of one-sided quotients. A larger difference means a kink or
// curvature, and the quotient is not accepted before it is known which.
constexpr double kStraight = 1e-3;
// A derivative is contradicted if its error is this many times the uncertainty of the quotients.
constexpr double kCertainty = 10;

// Difference quotients for a step and half of it.
struct Quotients {
  double whole = 0;
  double half = 0;
  double whole_gap = 0;  // difference of the one-sided quotients
  double half_gap = 0;

  // The common limit for a smooth function (Richardson extrapolation).
  double limit() const { return (4 * half - whole) / 3; }
  // The gap of a smooth function is proportional to the step.
  bool has_corner() const { return half_gap > 0.75 * whole_gap; }
  double uncertainty() const { return std::max({whole_gap, half_gap, 4 * std::abs(whole - half)}); }
};

class DerivativeChecker {
 public:
  DerivativeChecker(const std::function<absl::StatusOr<double>(double)>& moved, double derivative,
                    const DerivativeCheckOptions& options)
      : moved_(moved), derivative_(derivative), options_(options) {}

  absl::StatusOr<DerivativeCheck> Run() {
    DerivativeCheck finding;
    const double first = FirstStep();
    int contradictions = 0;
    bool any = false;
    for (const double factor : kStepFactors) {
      const double step = first * factor;
      const double usual = std::max(std::abs(derivative_), options_.usual);
      const double noise = options_.rounding / step;
      if (any && (step > 10 * kMaxStep || noise > kCertainty * options_.tolerance * usual))
        continue;
      any = true;
      TARTAN_ASSIGN_OR_RETURN(const Comparison found, CompareAt(step));
      if (found.agrees) return Found(GradCheckStatus::kOk, found, noise);
      if (!found.contradicts) continue;
      if (++contradictions == 2) return Found(GradCheckStatus::kDiffers, found, noise);
    }
    return finding;
  }

 private:
  struct Comparison {
    bool agrees = false;
    bool contradicts = false;
    double difference = 0;
    double greatest = 0;
  };

  static DerivativeCheck Found(GradCheckStatus status, const Comparison& found, double noise) {
    return {status, found.difference, found.greatest > noise ? found.greatest : 0};
  }

  // The minimum step for which rounding leaves enough digits.
  double FirstStep() const {
    const double usual = std::max(std::abs(derivative_), options_.usual);
    const double wanted = kCertainty * options_.rounding / (options_.tolerance * usual);
    return std::isfinite(wanted) ? std::clamp(wanted, kMinStep, kMaxStep) : kMaxStep;
  }

  absl::StatusOr<Comparison> CompareAt(double step) {
    Quotients q;
    TARTAN_RETURN_IF_ERROR(Measure(step, &q.whole, &q.whole_gap));
    const double noise = options_.rounding / step;
    Comparison quick = Compare(q.whole, noise);
    if (quick.agrees && q.whole_gap <= kStraight * quick.greatest + 4 * noise) return quick;
    TARTAN_RETURN_IF_ERROR(Measure(step / 2, &q.half, &q.half_gap));
    Comparison found = Compare(q.limit(), 4 * noise);
    const bool is_corner = q.has_corner() && q.half_gap > kStraight * found.greatest + 8 * noise;
    found.agrees = found.agrees && !is_corner;
    found.contradicts = !found.agrees && std::isfinite(found.difference) &&
                        found.difference > kCertainty * (q.uncertainty() + noise);
    return found;
  }

  absl::Status Measure(double step, double* quotient, double* gap) {
    TARTAN_ASSIGN_OR_RETURN(const double up, moved_(step));
    TARTAN_ASSIGN_OR_RETURN(const double down, moved_(-step));
    *quotient = (up - down) / (2 * step);
    *gap = std::abs(up + down) / step;
    return absl::OkStatus();
  }

  Comparison Compare(double quotient, double noise) const {
    Comparison result;
    const double greatest = std::max(std::abs(derivative_), std::abs(quotient));
    result.greatest = std::max(greatest, options_.usual);
    result.difference = std::abs(derivative_ - quotient);
    result.agrees =
        result.difference <= options_.tolerance * (greatest + options_.usual / 100) + noise;
    return result;
  }

  const std::function<absl::StatusOr<double>(double)>& moved_;
  const double derivative_;
  const DerivativeCheckOptions& options_;
};

}  // namespace

absl::string_view Name(GradCheckStatus status) {
  switch (status) {
    case GradCheckStatus::kOk:
      return "ok";
    case GradCheckStatus::kDiffers:
      return "differs";
    case GradCheckStatus::kKink:
      return "kink";
    case GradCheckStatus::kNone:
      break;
  }
  return "none";
}

absl::StatusOr<DerivativeCheck> CheckDerivative(
    const std::function<absl::StatusOr<double>(double)>& moved, double derivative,
    const DerivativeCheckOptions& options) {
  if (!std::isfinite(derivative)) return DerivativeCheck{GradCheckStatus::kDiffers, INFINITY, 1};
  return DerivativeChecker(moved, derivative, options).Run();
}

}  // namespace tartan::train
