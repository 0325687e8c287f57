// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/resize_coordinates.h"

#include <cmath>
#include <limits>

#include "tile/math/integer.h"

namespace tartan::onnx {
namespace {

using math::Rational;
using Wide = ResizePlace::Wide;

struct WideFraction {
  Wide numerator;
  Wide denominator;  // 0: infinity
};

// The fraction of the smallest denominator strictly between two positive fractions. It follows
// their continued fractions, whose terms are equal up to the first difference.
WideFraction SimplestBetween(WideFraction low, WideFraction high) {
  const Wide whole = low.numerator / low.denominator;
  if (high.denominator == 0 || (whole + 1) * high.denominator < high.numerator) {
    return {whole + 1, 1};
  }
  const WideFraction inner =
      SimplestBetween({high.denominator, high.numerator - whole * high.denominator},
                      {low.denominator, low.numerator - whole * low.denominator});
  return {whole * inner.numerator + inner.denominator, inner.numerator};
}

bool FitsInt64(Wide value) { return value <= std::numeric_limits<int64_t>::max(); }

}  // namespace

Rational SimplestFraction(float value) {
  if (value == 0) return 0;
  constexpr int kDigits = std::numeric_limits<float>::digits;
  constexpr int kMaxBits = 62;  // of whole numbers
  int exponent = 0;
  const float mantissa = std::frexp(std::abs(value), &exponent);
  // The number of bits after the binary point. Two more bits represent the halfway points.
  const int behind = kDigits - exponent;
  constexpr int kMaxBehind = 90;
  if (!std::isfinite(value) || exponent > kMaxBits || behind > kMaxBehind) {
    return Rational::Invalid();
  }
  const auto digits = static_cast<int64_t>(std::ldexp(mantissa, kDigits));
  if (behind <= 0) {  // a whole number
    const int64_t whole = digits * (int64_t{1} << -behind);
    return value < 0 ? -whole : whole;
  }
  // The float below a power of two has half the distance.
  const bool is_power = digits == int64_t{1} << (kDigits - 1);
  const Wide unit = Wide{1} << (behind + 2);
  const WideFraction found =
      SimplestBetween({Wide{digits} * 4 - (is_power ? 1 : 2), unit}, {Wide{digits} * 4 + 2, unit});
  if (!FitsInt64(found.numerator) || !FitsInt64(found.denominator)) return Rational::Invalid();
  const Rational magnitude(static_cast<int64_t>(found.numerator),
                           static_cast<int64_t>(found.denominator));
  return value < 0 ? -magnitude : magnitude;
}

ResizeLine::ResizeLine(const ResizeAxis& axis, Coordinates coordinates) {
  const Rational half(1, 2);
  const Rational step = Rational(1) / axis.scale;
  const Rational length = axis.length();
  const Rational last = axis.size - 1;
  Rational first = 0;
  Rational by = step;
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      first = (step - 1) * half;
      break;
    case Coordinates::kHalfPixelSymmetric:
      first =
          half * axis.size * (Rational(1) - Rational(axis.new_size) / length) + (step - 1) * half;
      break;
    case Coordinates::kPytorchHalfPixel:
      first = axis.new_size > 1 ? (step - 1) * half : Rational(0);
      by = axis.new_size > 1 ? step : Rational(0);
      break;
    case Coordinates::kAlignCorners:
      by = length == 1 ? Rational(0) : last / (length - 1);
      break;
    case Coordinates::kAsymmetric:
      break;
    case Coordinates::kTfHalfPixelForNn:
      first = step * half;
      break;
    case Coordinates::kTfCropAndResize: {
      const bool is_single = !(length > 1);
      first = is_single ? (axis.region_start + axis.region_end) * last * half
                        : axis.region_start * last;
      by = is_single ? Rational(0) : (axis.region_end - axis.region_start) * last / (length - 1);
      break;
    }
  }
  if (!first.valid() || !by.valid()) return;
  const Wide denominator = Wide{first.denominator()} /
                           math::Gcd(first.denominator(), by.denominator()) * by.denominator();
  const Wide numerator = Wide{first.numerator()} * (denominator / first.denominator());
  const Wide increment = Wide{by.numerator()} * (denominator / by.denominator());
  const auto fits = [](Wide x) { return FitsInt64(x < 0 ? -x : x); };
  if (!fits(denominator) || !fits(numerator) || !fits(increment)) return;
  first_ = static_cast<int64_t>(numerator);
  step_ = static_cast<int64_t>(increment);
  denominator_ = static_cast<int64_t>(denominator);
}

ResizePlace ResizeLine::At(int64_t i) const {
  const Wide numerator = first_ + Wide{step_} * i;
  Wide floor = numerator / denominator_;
  if (numerator % denominator_ < 0) --floor;
  return {static_cast<int64_t>(floor), numerator - floor * denominator_, denominator_};
}

}  // namespace tartan::onnx
