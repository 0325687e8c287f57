// SPDX-License-Identifier: Apache-2.0
// Compares positions and weights of Resize with the standard's formulas in exact fractions, for all
// pairs of sizes up to 64.
#include "frontend/onnx/tile_text/resize_taps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace tartan::onnx::resize_taps_test {
namespace {

using math::Rational;
using ::testing::HasSubstr;

constexpr int64_t kMostSize = 64;
constexpr Coordinates kAllCoordinates[] = {
    Coordinates::kHalfPixel,       Coordinates::kHalfPixelSymmetric, Coordinates::kPytorchHalfPixel,
    Coordinates::kAlignCorners,    Coordinates::kAsymmetric,         Coordinates::kTfHalfPixelForNn,
    Coordinates::kTfCropAndResize,
};
constexpr Rounding kAllRoundings[] = {Rounding::kRoundPreferFloor, Rounding::kRoundPreferCeil,
                                      Rounding::kFloor, Rounding::kCeil};

// The standard's formulas.
Rational Formula(int64_t i, const ResizeAxis& axis, Coordinates coordinates) {
  const Rational x = i;
  const Rational half(1, 2);
  const Rational width = axis.size;
  const Rational resized = width * axis.scale;
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return (x + half) / axis.scale - half;
    case Coordinates::kHalfPixelSymmetric: {
      const Rational adjustment = Rational(axis.new_size) / resized;
      const Rational center = width / 2;
      const Rational offset = center * (Rational(1) - adjustment);
      return offset + (x + half) / axis.scale - half;
    }
    case Coordinates::kPytorchHalfPixel:
      return resized > 1 ? (x + half) / axis.scale - half : Rational(0);
    case Coordinates::kAlignCorners:
      return resized == 1 ? Rational(0) : x * (width - 1) / (resized - 1);
    case Coordinates::kAsymmetric:
      return x / axis.scale;
    case Coordinates::kTfHalfPixelForNn:
      return (x + half) / axis.scale;
    case Coordinates::kTfCropAndResize:
      return resized > 1
                 ? axis.region_start * (width - 1) +
                       x * (axis.region_end - axis.region_start) * (width - 1) / (resized - 1)
                 : half * (axis.region_start + axis.region_end) * (width - 1);
  }
  return 0;
}

int64_t Nearest(const Rational& x, Rounding rounding) {
  const Rational half(1, 2);
  if (rounding == Rounding::kRoundPreferFloor) return (x - half).Ceil();
  if (rounding == Rounding::kRoundPreferCeil) return (x + half).Floor();
  return rounding == Rounding::kFloor ? x.Floor() : x.Ceil();
}

double ToDouble(const Rational& x) {
  return static_cast<double>(x.numerator()) / static_cast<double>(x.denominator());
}

double CubicWeight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

std::string Name(const ResizeAxis& axis, Coordinates coordinates, int64_t i) {
  return absl::StrCat(axis.size, " to ", axis.new_size, ", transformation ",
                      static_cast<int>(coordinates), ", element ", i);
}

// Calls `check` with each pair of sizes and each transformation.
template <class Check>
void ForAllAxes(const Check& check) {
  for (int64_t size = 1; size <= kMostSize; ++size) {
    for (int64_t new_size = 1; new_size <= kMostSize; ++new_size) {
      ResizeAxis axis{size, new_size, Rational(new_size, size)};
      axis.region_start = SimplestFraction(0.1F);
      axis.region_end = SimplestFraction(1.2F);
      for (const Coordinates coordinates : kAllCoordinates) check(axis, coordinates);
    }
  }
}

TEST(ResizeTaps, TakeTheNearestElementOfTheExactCoordinate) {
  int64_t halfway = 0;
  ForAllAxes([&](const ResizeAxis& axis, Coordinates coordinates) {
    for (const Rounding rounding : kAllRoundings) {
      ResizeOptions options;
      options.coordinates = coordinates;
      options.rounding = rounding;
      const auto taps = MakeTaps(axis, options);
      ASSERT_TRUE(taps.ok()) << taps.status();
      for (int64_t i = 0; i < axis.new_size; ++i) {
        const Rational x = Formula(i, axis, coordinates);
        halfway += x.denominator() == 2;
        ASSERT_EQ(taps->positions[0][static_cast<size_t>(i)],
                  std::clamp<int64_t>(Nearest(x, rounding), 0, axis.size - 1))
            << Name(axis, coordinates, i) << ", rounding " << static_cast<int>(rounding);
      }
    }
  });
  EXPECT_GT(halfway, 10000);
}

TEST(ResizeTaps, WeighWithTheExactDistance) {
  ForAllAxes([](const ResizeAxis& axis, Coordinates coordinates) {
    for (const bool is_cubic : {false, true}) {
      ResizeOptions options;
      options.interpolation = is_cubic ? Interpolation::kCubic : Interpolation::kLinear;
      options.coordinates = coordinates;
      const auto taps = MakeTaps(axis, options);
      ASSERT_TRUE(taps.ok()) << taps.status();
      for (int64_t i = 0; i < axis.new_size; ++i) {
        const auto at = static_cast<size_t>(i);
        const Rational x = Formula(i, axis, coordinates);
        for (int64_t k = 0; k < static_cast<int64_t>(taps->weights.size()); ++k) {
          const int64_t position = x.Floor() + k - (is_cubic ? 1 : 0);
          const double distance = ToDouble(x - position);
          const double weight = is_cubic ? CubicWeight(distance, options.cubic_a)
                                         : std::max(0.0, 1 - std::abs(distance));
          ASSERT_NEAR(taps->weights[static_cast<size_t>(k)][at], weight, 1e-14)
              << Name(axis, coordinates, i);
          ASSERT_EQ(taps->positions[static_cast<size_t>(k)][at],
                    std::clamp<int64_t>(position, 0, axis.size - 1));
        }
        if (taps->inside.empty()) continue;
        ASSERT_EQ(taps->inside[at] != 0, x >= 0 && x <= axis.size - 1);
      }
    }
  });
}

TEST(SimplestFraction, IsWhatAScaleWasDividedFrom) {
  for (int64_t n = 1; n <= 1024; ++n) {
    for (int64_t m = 1; m <= 1024; ++m) {
      const float scale = static_cast<float>(n) / static_cast<float>(m);
      ASSERT_EQ(SimplestFraction(scale), Rational(n, m)) << n << " / " << m;
    }
  }
}

TEST(SimplestFraction, RoundsToTheNumberItself) {
  for (const float value : {3.14159274F, 1e-12F, 0.1F, 16777217.0F, 1e12F, 0x1.fffffep-20F, 0.5F,
                            1.0F, 0x1.000002p0F, 0x1.fffffep-1F, 123456.789F}) {
    for (const float signed_value : {value, -value}) {
      const Rational fraction = SimplestFraction(signed_value);
      ASSERT_TRUE(fraction.valid()) << signed_value;
      EXPECT_EQ(static_cast<float>(ToDouble(fraction)), signed_value);
    }
  }
  EXPECT_EQ(SimplestFraction(0), Rational(0));
  EXPECT_FALSE(SimplestFraction(INFINITY).valid());
  EXPECT_FALSE(SimplestFraction(NAN).valid());
  EXPECT_FALSE(SimplestFraction(1e-40F).valid());
}

TEST(ResizeTaps, RefuseFractionsThatTheyCannotCountWith) {
  ResizeAxis axis{int64_t{1} << 40, 3, Rational(1, int64_t{1} << 62)};
  ResizeOptions options;
  options.coordinates = Coordinates::kHalfPixelSymmetric;
  const auto taps = MakeTaps(axis, options);
  EXPECT_THAT(taps.status().message(), HasSubstr("do not fit fractions of 64-bit integers"));
}

}  // namespace
}  // namespace tartan::onnx::resize_taps_test
