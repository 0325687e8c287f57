// SPDX-License-Identifier: Apache-2.0
// Which elements of an axis, with which weights, make each element of a resized axis. Formulas are
// those of the ONNX reference for Resize.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tartan::onnx {

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
// kFloorOrCeil: down where the axis grows, up where it shrinks; what the standard's cases of
// operator set 10 expect, which has no attribute for it.
enum class Rounding { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kFloorOrCeil };

struct ResizeOptions {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Rounding rounding = Rounding::kRoundPreferFloor;
  double cubic_a = -0.75;
  bool excludes_outside = false;
  bool antialias = false;
  double extrapolation = 0;

  // From the values of ONNX attributes; InvalidArgument lists what there is.
  absl::Status SetModes(absl::string_view mode, absl::string_view coordinate_mode,
                        absl::string_view nearest_mode);
};

struct ResizeAxis {
  int64_t size = 0;
  int64_t new_size = 0;
  double scale = 1;
  double length = 0;        // size * scale, which need not be whole
  double region_start = 0;  // of tf_crop_and_resize, as parts of the axis
  double region_end = 1;

  static ResizeAxis Unchanged(int64_t size) {
    return {size, size, 1, static_cast<double>(size), 0, 1};
  }
  bool IsUnchanged() const {
    return size == new_size && scale == 1 && region_start == 0 && region_end == 1;
  }
};

// new[i] = sum over k of weights[k][i] * old[positions[k][i]]; without weights there is one tap.
struct ResizeTaps {
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<double>> weights;
  // 0 for elements that take the extrapolation value; empty when none does.
  std::vector<double> inside;
};

// Requires axis.size > 0.
ResizeTaps MakeTaps(const ResizeAxis& axis, const ResizeOptions& options);

}  // namespace tartan::onnx
