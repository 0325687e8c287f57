// SPDX-License-Identifier: Apache-2.0
// Maps elements of a resized axis to coordinates on the old axis, in exact fractions: rounding to
// the nearest element depends on whether a coordinate is whole or halfway. Internal to Resize.
#pragma once

#include <cstdint>

#include "tile/math/rational.h"

namespace tartan::onnx {

enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};

struct ResizeAxis {
  int64_t size = 0;
  int64_t new_size = 0;
  math::Rational scale = 1;         // valid, positive
  math::Rational region_start = 0;  // for tf_crop_and_resize, as fractions of the axis
  math::Rational region_end = 1;

  static ResizeAxis Unchanged(int64_t size) { return {size, size}; }
  bool IsUnchanged() const {
    return size == new_size && scale == 1 && region_start == 0 && region_end == 1;
  }
  // The standard's length_resized, which need not be an integer. Invalid if it is too large.
  math::Rational length() const { return math::Rational(size) * scale; }
};

// The simplest fraction that rounds to `value` in float32: 3/10 for 0.3f. Invalid for infinities,
// NaN, and numbers without such a fraction of 64-bit integers.
math::Rational SimplestFraction(float value);

// A coordinate: floor + rest / denominator, with 0 <= rest < denominator.
struct ResizePlace {
  __extension__ using Wide = __int128;
  int64_t floor = 0;
  Wide rest = 0;
  Wide denominator = 1;

  bool is_whole() const { return rest == 0; }
  bool is_halfway() const { return 2 * rest == denominator; }
  bool is_above_half() const { return 2 * rest > denominator; }
  double fraction() const { return static_cast<double>(rest) / static_cast<double>(denominator); }
};

// The coordinates of one axis: first + i * step.
class ResizeLine {
 public:
  ResizeLine(const ResizeAxis& axis, Coordinates coordinates);

  // False if the axis' fractions do not fit 64-bit integers; At may not be called then.
  bool valid() const { return denominator_ != 0; }
  // Requires 0 <= i < 2^32.
  ResizePlace At(int64_t i) const;

 private:
  int64_t first_ = 0;
  int64_t step_ = 0;
  int64_t denominator_ = 0;
};

}  // namespace tartan::onnx
