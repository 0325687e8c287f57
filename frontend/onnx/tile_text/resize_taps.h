// SPDX-License-Identifier: Apache-2.0
// Computes the input elements and weights (taps) of each element of a resized axis. Formulas are
// from the ONNX reference for Resize.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/tile_text/resize_coordinates.h"

namespace tartan::onnx {

enum class Interpolation { kNearest, kLinear, kCubic };
// kFloorOrCeil rounds down if the axis grows and up if it shrinks. The standard's test cases of
// operator set 10, which has no attribute for it, expect this.
enum class Rounding { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kFloorOrCeil };

struct ResizeOptions {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Rounding rounding = Rounding::kRoundPreferFloor;
  double cubic_a = -0.75;
  bool excludes_outside = false;
  bool antialias = false;
  double extrapolation = 0;

  // Sets the modes from the values of ONNX attributes. InvalidArgument lists the valid values.
  absl::Status SetModes(absl::string_view mode, absl::string_view coordinate_mode,
                        absl::string_view nearest_mode);
};

// new[i] = sum over k of weights[k][i] * old[positions[k][i]]; without weights there is one tap.
struct ResizeTaps {
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<double>> weights;
  // 0 for elements that take the extrapolation value; empty if there are none.
  std::vector<double> inside;
};

// Requires axis.size > 0. Unimplemented if the coordinates are not fractions of 64-bit integers.
absl::StatusOr<ResizeTaps> MakeTaps(const ResizeAxis& axis, const ResizeOptions& options);

}  // namespace tartan::onnx
