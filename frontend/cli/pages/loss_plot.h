// SPDX-License-Identifier: Apache-2.0
// Draws the loss curves of a training run as a PNG image.
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

// Maps values to pixels; the minimum of both axes is at the lower left of the frame.
struct PlotFrame {
  double left = 90, right = 940, top = 40, bottom = 540;  // pixels
  double first_step = 0, last_step = 1;
  double least = 0, most = 1;

  Point At(double step, double value) const {
    return {left + (step - first_step) / (last_step - first_step) * (right - left),
            bottom - (value - least) / (most - least) * (bottom - top)};
  }
};

// A frame with round numbers at its borders that contains all finite losses of the lines.
PlotFrame FrameOf(const std::vector<train::LogLine>& lines);

// The training loss of the log lines, smoothed if there are many, and the validation loss.
absl::StatusOr<std::string> LossPlot(const std::vector<train::LogLine>& lines);

}  // namespace tartan::cli
