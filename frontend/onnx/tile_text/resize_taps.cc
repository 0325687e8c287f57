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

// The element that a coordinate between two elements selects. `grows` is true if the axis grows.
int64_t Round(const ResizePlace& place, Rounding rounding, bool grows) {
  const int64_t ceil = place.is_whole() ? place.floor : place.floor + 1;
  switch (rounding) {
    case Rounding::kRoundPreferFloor:
      return place.is_above_half() ? ceil : place.floor;
    case Rounding::kRoundPreferCeil:
      return place.is_above_half() || place.is_halfway() ? ceil : place.floor;
    case Rounding::kFloor:
      return place.floor;
    case Rounding::kCeil:
      return ceil;
    case Rounding::kFloorOrCeil:
      return grows ? place.floor : ceil;
  }
  return place.floor;
}

double LinearKernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double CubicKernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

int64_t Clamp(int64_t x, int64_t size) { return std::clamp<int64_t>(x, 0, size - 1); }

bool IsInside(const ResizePlace& place, int64_t size) {
  return place.floor >= 0 &&
         (place.floor < size - 1 || (place.floor == size - 1 && place.is_whole()));
}

}  // namespace

absl::Status ResizeOptions::SetModes(absl::string_view mode, absl::string_view coordinate_mode,
                                     absl::string_view nearest_mode) {
  TARTAN_RETURN_IF_ERROR(Choose(kInterpolations, "mode", mode, &interpolation));
  TARTAN_RETURN_IF_ERROR(
      Choose(kCoordinates, "coordinate_transformation_mode", coordinate_mode, &coordinates));
  return Choose(kRoundings, "nearest_mode", nearest_mode, &rounding);
}

absl::StatusOr<ResizeTaps> MakeTaps(const ResizeAxis& axis, const ResizeOptions& options) {
  const ResizeLine line(axis, options.coordinates);
  if (!line.valid()) {
    return absl::UnimplementedError(absl::StrCat("coordinates of an axis of ", axis.size,
                                                 " elements scaled by ", axis.scale.ToString(),
                                                 " do not fit fractions of 64-bit integers"));
  }
  const bool is_nearest = options.interpolation == Interpolation::kNearest;
  const bool is_cubic = options.interpolation == Interpolation::kCubic;
  // Antialiasing stretches the kernel by the factor by which the axis shrinks.
  const double scale =
      static_cast<double>(axis.scale.numerator()) / static_cast<double>(axis.scale.denominator());
  const double stretch = options.antialias ? std::min(scale, 1.0) : 1.0;
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
    const ResizePlace place = line.At(static_cast<int64_t>(i));
    if (crops) taps.inside[i] = IsInside(place, axis.size);
    if (is_nearest) {
      const bool grows = axis.scale >= 1;
      taps.positions[0][i] = Clamp(Round(place, options.rounding, grows), axis.size);
      continue;
    }
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const int64_t offset = first + static_cast<int64_t>(k);
      const int64_t position = place.floor + offset;
      const double distance = (static_cast<double>(offset) - place.fraction()) * stretch;
      double weight = is_cubic ? CubicKernel(distance, options.cubic_a) : LinearKernel(distance);
      const bool is_outside = position < 0 || position >= axis.size;
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
