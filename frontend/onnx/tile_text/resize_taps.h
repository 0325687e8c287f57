// SPDX-License-Identifier: Apache-2.0
// Which elements of an axis, with which weights, make each element of a resized axis. Formulas are
// those of the ONNX reference for Resize.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/tile_text/resize_coordinates.h"

namespace tartan::onnx {

enum class Interpolation { kNearest, kLinear, kCubic };
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

// new[i] = sum over k of weights[k][i] * old[positions[k][i]]; without weights there is one tap.
struct ResizeTaps {
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<double>> weights;
  // 0 for elements that take the extrapolation value; empty when none does.
  std::vector<double> inside;
};

// Requires axis.size > 0. Unimplemented where the coordinates are no fractions of 64-bit integers.
absl::StatusOr<ResizeTaps> MakeTaps(const ResizeAxis& axis, const ResizeOptions& options);

}  // namespace tartan::onnx
