// SPDX-License-Identifier: Apache-2.0
// Loss curves of a run of training as a PNG picture.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/cli/pages/canvas.h"
#include "frontend/train/fit.h"

namespace tartan::cli {

inline constexpr int64_t kPlotHeight = 600;
inline constexpr int64_t kPlotWidth = 960;
inline constexpr Colour kLossColour{31, 111, 235};
inline constexpr Colour kPlainLossColour{178, 208, 248};  // beneath a smoothed curve
inline constexpr Colour kValidationColour{209, 36, 47};

// Where values lie in the picture: the least of both axes at the lower left of the frame.
struct PlotFrame {
  double left = 90, right = 940, top = 40, bottom = 540;  // pixels
  double first_step = 0, last_step = 1;
  double least = 0, most = 1;

  Point At(double step, double value) const {
    return {left + (step - first_step) / (last_step - first_step) * (right - left),
            bottom - (value - least) / (most - least) * (bottom - top)};
  }
};

// A frame whose borders are round numbers and that has all finite losses of the lines in it.
PlotFrame FrameOf(const std::vector<train::LogLine>& lines);

// The loss between the lines, smoothed where there are many, and that of the validations.
absl::StatusOr<std::string> LossPlot(const std::vector<train::LogLine>& lines);

}  // namespace tartan::cli
