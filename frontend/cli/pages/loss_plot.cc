// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/pages/loss_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "frontend/data/encode_png.h"

namespace tartan::cli {
namespace {

constexpr Colour kInk{31, 35, 40};
constexpr Colour kGrid{225, 228, 232};
constexpr int kTicks = 6;                   // approximate number per axis
constexpr size_t kSmoothingThreshold = 80;  // curves with more points are smoothed

struct Value {
  double step = 0;
  double loss = 0;
};
using LossCurve = std::vector<Value>;

LossCurve TrainingCurve(const std::vector<train::LogLine>& lines) {
  LossCurve curve;
  for (const train::LogLine& line : lines) {
    if (std::isfinite(line.loss)) curve.push_back({static_cast<double>(line.step), line.loss});
  }
  return curve;
}

LossCurve ValidationCurve(const std::vector<train::LogLine>& lines) {
  LossCurve curve;
  for (const train::LogLine& line : lines) {
    const auto value = line.metrics.find("val_loss");
    if (value != line.metrics.end() && std::isfinite(value->second))
      curve.push_back({static_cast<double>(line.step), value->second});
  }
  return curve;
}

// A centred moving average, with equally many points on both sides.
LossCurve Smoothed(const LossCurve& curve) {
  const auto count = static_cast<int64_t>(curve.size());
  LossCurve smooth = curve;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t reach = std::min({count / 40, i, count - 1 - i});
    double sum = 0;
    for (int64_t k = i - reach; k <= i + reach; ++k) sum += curve[static_cast<size_t>(k)].loss;
    smooth[static_cast<size_t>(i)].loss = sum / static_cast<double>(2 * reach + 1);
  }
  return smooth;
}

// The distance of ticks: 1, 2 or 5 times a power of ten.
double TickOf(double range) {
  const double rough = range / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (rough <= step * power) return step * power;
  }
  return 10 * power;
}

void SetRange(double least, double most, double* first, double* last) {
  // A single value, or values too close for the tick labels to distinguish.
  const double size = std::max(std::abs(least), std::abs(most));
  if (!(most - least > 1e-6 * size)) {
    const double margin = size > 0 ? size / 10 : 1;
    least -= margin;
    most += margin;
  }
  const double tick = TickOf(most - least);
  *first = std::floor(least / tick) * tick;
  *last = std::ceil(most / tick) * tick;
}

void DrawAxes(const PlotFrame& frame, Canvas* canvas) {
  const double tick_x = TickOf(frame.last_step - frame.first_step);
  for (double k = std::ceil(frame.first_step / tick_x - 1e-9) + 0.0;
       k * tick_x <= frame.last_step + 1e-9 * tick_x; ++k) {
    const Point foot = frame.At(k * tick_x, frame.least);
    canvas->Line(foot, {foot.x, frame.top}, 1, kGrid);
    const std::string text = absl::StrFormat("%.6g", k * tick_x);
    const int64_t width = Canvas::TextWidth(text);
    canvas->Text(std::min(static_cast<int64_t>(foot.x) - width / 2, canvas->width() - width),
                 static_cast<int64_t>(frame.bottom) + 10, text, kInk);
  }
  const double tick_y = TickOf(frame.most - frame.least);
  for (double k = std::ceil(frame.least / tick_y - 1e-9) + 0.0;
       k * tick_y <= frame.most + 1e-9 * tick_y; ++k) {
    const Point foot = frame.At(frame.first_step, k * tick_y);
    canvas->Line(foot, {frame.right, foot.y}, 1, kGrid);
    const std::string text = absl::StrFormat("%.4g", k * tick_y);
    canvas->Text(static_cast<int64_t>(frame.left) - 8 - Canvas::TextWidth(text),
                 static_cast<int64_t>(foot.y) - Canvas::kTextHeight / 2, text, kInk);
  }
  const Point corner{frame.left, frame.bottom};
  canvas->Line(corner, {frame.left, frame.top}, 1, kInk);
  canvas->Line(corner, {frame.right, frame.bottom}, 1, kInk);
  const std::string step = "step";
  canvas->Text(static_cast<int64_t>(frame.left + frame.right) / 2 - Canvas::TextWidth(step) / 2,
               static_cast<int64_t>(frame.bottom) + 36, step, kInk);
}

void DrawCurve(const PlotFrame& frame, const LossCurve& curve, double thickness, Colour colour,
               Canvas* canvas) {
  for (size_t i = 0; i < curve.size(); ++i) {
    const Value& from = curve[i == 0 ? 0 : i - 1];
    canvas->Line(frame.At(from.step, from.loss), frame.At(curve[i].step, curve[i].loss), thickness,
                 colour);
  }
}

// Draws a legend entry whose right end is `right`; returns the right end for the next one.
int64_t DrawLegend(const std::string& name, Colour colour, int64_t right, Canvas* canvas) {
  const int64_t left = right - Canvas::TextWidth(name);
  canvas->Text(left, 14, name, kInk);
  canvas->Line({static_cast<double>(left - 34), 20}, {static_cast<double>(left - 12), 20}, 3,
               colour);
  return left - 60;
}

}  // namespace

PlotFrame FrameOf(const std::vector<train::LogLine>& lines) {
  LossCurve all = TrainingCurve(lines);
  const LossCurve validation = ValidationCurve(lines);
  all.insert(all.end(), validation.begin(), validation.end());
  PlotFrame frame;
  if (all.empty()) return frame;
  const auto by_loss = [](const Value& a, const Value& b) { return a.loss < b.loss; };
  const auto by_step = [](const Value& a, const Value& b) { return a.step < b.step; };
  const auto [least, most] = std::minmax_element(all.begin(), all.end(), by_loss);
  const auto [first, last] = std::minmax_element(all.begin(), all.end(), by_step);
  // The frame includes 0 if no loss is negative.
  SetRange(least->loss >= 0 ? 0 : least->loss, most->loss, &frame.least, &frame.most);
  frame.first_step = first->step;
  frame.last_step = std::max(last->step, first->step + 1);
  return frame;
}

absl::StatusOr<std::string> LossPlot(const std::vector<train::LogLine>& lines) {
  const PlotFrame frame = FrameOf(lines);
  Canvas canvas(kPlotHeight, kPlotWidth);
  DrawAxes(frame, &canvas);
  const LossCurve training = TrainingCurve(lines);
  const LossCurve validation = ValidationCurve(lines);
  const bool is_long = training.size() > kSmoothingThreshold;
  if (is_long) DrawCurve(frame, training, 1, kPlainLossColour, &canvas);
  DrawCurve(frame, is_long ? Smoothed(training) : training, 2, kLossColour, &canvas);
  DrawCurve(frame, validation, 2, kValidationColour, &canvas);
  for (const Value& value : validation) DrawCurve(frame, {value}, 7, kValidationColour, &canvas);
  auto right = static_cast<int64_t>(frame.right);
  if (!validation.empty()) right = DrawLegend("val_loss", kValidationColour, right, &canvas);
  DrawLegend(is_long ? "loss (smoothed)" : "loss", kLossColour, right, &canvas);
  if (training.empty() && validation.empty())
    canvas.Text(static_cast<int64_t>(frame.left) + 20, 60, "no finite losses", kInk);
  return data::EncodePng(canvas.height(), canvas.width(), canvas.pixels());
}

}  // namespace tartan::cli
