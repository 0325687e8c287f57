// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "tile/base/scalar_value.h"

namespace tartan::cli {
namespace {

struct Format {
  int digits;        // binary digits of the significand, including the leading one
  int least_normal;  // minimum exponent of normal numbers
};

Format FormatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {11, -14};
    case DataType::kBFloat16:
      return {8, -126};
    case DataType::kFloat64:
      return {53, -1022};
    default:
      return {24, -126};
  }
}

// The distance of adjacent values of `type` at a magnitude.
double Spacing(DataType type, double magnitude) {
  if (!IsFloat(type)) return 1;
  const Format format = FormatOf(type);
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : format.least_normal;
  return std::ldexp(1.0, std::max(exponent, format.least_normal) - format.digits + 1);
}

double Error(double actual, double exact, DataType type) {
  const double rounded = RoundReal(exact, type);
  if (std::isfinite(actual) && std::isfinite(rounded)) return std::abs(actual - exact);
  const bool is_same = actual == rounded || (std::isnan(actual) && std::isnan(rounded));
  return is_same ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace

double ScaleOf(const HostTensor& tensor) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = tensor.GetDouble(i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

Accuracy MeasureAccuracy(const HostTensor& actual, const HostTensor& exact, Tolerance tolerance) {
  Accuracy accuracy;
  accuracy.elements = actual.element_count();
  const double scale = ScaleOf(exact);
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < accuracy.elements; ++i) {
    const double wanted = exact.GetDouble(i);
    const double error = Error(actual.GetDouble(i), wanted, actual.type());
    const double allowed =
        std::isfinite(wanted) ? tolerance.absolute + tolerance.relative * std::abs(wanted) : 0;
    if (error > allowed) ++accuracy.beyond;
    accuracy.max_abs_error = std::max(accuracy.max_abs_error, error);
    const double magnitude = std::isfinite(wanted) ? std::max(std::abs(wanted), scale) : scale;
    accuracy.max_ulps = std::max(accuracy.max_ulps, error / Spacing(actual.type(), magnitude));
    if (!std::isfinite(error)) continue;
    squares += error * error;
    ++finite;
  }
  if (squares > 0) {
    const double rms = std::sqrt(squares / static_cast<double>(finite));
    accuracy.rms_error = scale > 0 ? rms / scale : std::numeric_limits<double>::infinity();
  }
  return accuracy;
}

std::string ToString(const Accuracy& accuracy) {
  return absl::StrFormat("%.3g ulp, RMS %.2g, %d of %d beyond the tolerance", accuracy.max_ulps,
                         accuracy.rms_error, accuracy.beyond, accuracy.elements);
}

Tolerance ToleranceFor(DataType type, double scale, Tolerance usual) {
  if (type != DataType::kFloat16 && type != DataType::kBFloat16) return usual;
  const double unit = Spacing(type, 1);
  return {std::max(usual.relative, 4 * unit), std::max(usual.absolute, unit * scale)};
}

}  // namespace tartan::cli
