// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

template <class T>
struct Named {
  absl::string_view name;
  T value;
};

constexpr Named<Interpolation> kInterpolations[] = {{"nearest", Interpolation::kNearest},
                                                    {"linear", Interpolation::kLinear},
                                                    {"bilinear", Interpolation::kLinear},
                                                    {"cubic", Interpolation::kCubic}};

constexpr Named<Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::kHalfPixel},
    {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
    {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
    {"align_corners", Coordinates::kAlignCorners},
    {"asymmetric", Coordinates::kAsymmetric},
    {"tf_half_pixel_for_nn", Coordinates::kTfHalfPixelForNn},
    {"tf_crop_and_resize", Coordinates::kTfCropAndResize}};

constexpr Named<Rounding> kRoundings[] = {{"round_prefer_floor", Rounding::kRoundPreferFloor},
                                          {"round_prefer_ceil", Rounding::kRoundPreferCeil},
                                          {"floor", Rounding::kFloor},
                                          {"ceil", Rounding::kCeil}};

template <class Rows, class T>
absl::Status Choose(const Rows& rows, absl::string_view attribute, absl::string_view name, T* out) {
  std::string all;
  for (const auto& row : rows) {
    if (row.name == name) {
      *out = row.value;
      return absl::OkStatus();
    }
    absl::StrAppend(&all, all.empty() ? "" : ", ", row.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("attribute '", attribute, "': expected one of ", all, ", got ", name));
}

// Where element `i` of the new axis lies on the old one, computed in T.
template <class T>
T Coordinate(size_t index, const ResizeAxis& axis, Coordinates coordinates) {
  const T i = static_cast<T>(index);
  const T half = static_cast<T>(0.5);
  const T size = static_cast<T>(axis.size);
  const T scale = static_cast<T>(axis.scale);
  const T length = static_cast<T>(axis.length);
  const T start = static_cast<T>(axis.region_start);
  const T end = static_cast<T>(axis.region_end);
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return (i + half) / scale - half;
    case Coordinates::kHalfPixelSymmetric:
      return size / 2 * (1 - static_cast<T>(axis.new_size) / length) + (i + half) / scale - half;
    case Coordinates::kPytorchHalfPixel:
      return axis.new_size > 1 ? (i + half) / scale - half : 0;
    case Coordinates::kAlignCorners:
      return length == 1 ? 0 : i * (size - 1) / (length - 1);
    case Coordinates::kAsymmetric:
      return i / scale;
    case Coordinates::kTfHalfPixelForNn:
      return (i + half) / scale;
    case Coordinates::kTfCropAndResize:
      if (length <= 1) return (start + end) * (size - 1) / 2;
      return start * (size - 1) + i * (end - start) * (size - 1) / (length - 1);
  }
  return i;
}

double Round(double x, Rounding rounding, double scale) {
  switch (rounding) {
    case Rounding::kRoundPreferFloor:
      return std::ceil(x - 0.5);
    case Rounding::kRoundPreferCeil:
      return std::floor(x + 0.5);
    case Rounding::kFloor:
      return std::floor(x);
    case Rounding::kCeil:
      return std::ceil(x);
    case Rounding::kFloorOrCeil:
      return scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

double LinearKernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double CubicKernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

int64_t Clamp(double x, int64_t size) {
  const double last = static_cast<double>(size - 1);
  return static_cast<int64_t>(std::min(std::max(x, 0.0), last));
}

}  // namespace

absl::Status ResizeOptions::SetModes(absl::string_view mode, absl::string_view coordinate_mode,
                                     absl::string_view nearest_mode) {
  TARTAN_RETURN_IF_ERROR(Choose(kInterpolations, "mode", mode, &interpolation));
  TARTAN_RETURN_IF_ERROR(
      Choose(kCoordinates, "coordinate_transformation_mode", coordinate_mode, &coordinates));
  return Choose(kRoundings, "nearest_mode", nearest_mode, &rounding);
}

ResizeTaps MakeTaps(const ResizeAxis& axis, const ResizeOptions& options) {
  const bool is_nearest = options.interpolation == Interpolation::kNearest;
  const bool is_cubic = options.interpolation == Interpolation::kCubic;
  // Antialiasing stretches the kernel by as much as the axis shrinks.
  const double stretch = options.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = is_cubic ? 2 : 1;
  const int64_t first = is_nearest ? 0 : static_cast<int64_t>(std::floor(-reach / stretch)) + 1;
  const size_t count = is_nearest ? 1 : static_cast<size_t>(2 - 2 * first);
  const size_t size = static_cast<size_t>(axis.new_size);
  ResizeTaps taps;
  taps.positions.assign(count, std::vector<int64_t>(size));
  if (!is_nearest) taps.weights.assign(count, std::vector<double>(size));
  const bool crops = options.coordinates == Coordinates::kTfCropAndResize;
  if (crops) taps.inside.assign(size, 1);
  for (size_t i = 0; i < size; ++i) {
    // The nearest element hangs on how 1 / 0.1f rounds: to 10 in float32, as scales are given.
    const double x = is_nearest
                         ? static_cast<double>(Coordinate<float>(i, axis, options.coordinates))
                         : Coordinate<double>(i, axis, options.coordinates);
    if (crops) taps.inside[i] = x >= 0 && x <= static_cast<double>(axis.size - 1);
    if (is_nearest) {
      taps.positions[0][i] = Clamp(Round(x, options.rounding, axis.scale), axis.size);
      continue;
    }
    const double floor = std::floor(x);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const double position = floor + static_cast<double>(first) + static_cast<double>(k);
      const double distance = (position - x) * stretch;
      double weight = is_cubic ? CubicKernel(distance, options.cubic_a) : LinearKernel(distance);
      const bool is_outside = position < 0 || position >= static_cast<double>(axis.size);
      if (options.excludes_outside && is_outside) weight = 0;
      taps.positions[k][i] = Clamp(position, axis.size);
      taps.weights[k][i] = weight;
      sum += weight;
    }
    if (!options.excludes_outside && !options.antialias) continue;
    for (size_t k = 0; sum != 0 && k < count; ++k) taps.weights[k][i] /= sum;
  }
  return taps;
}

}  // namespace tartan::onnx
