// SPDX-License-Identifier: Apache-2.0
// Tests of the loss plot, decoded with the picture reader.
#include "frontend/cli/pages/loss_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "frontend/data/encode_png.h"
#include "frontend/data/picture.h"

namespace tartan::cli::loss_plot_test {
namespace {

train::LogLine Line(int64_t step, double loss) {
  train::LogLine line;
  line.step = step;
  line.loss = loss;
  return line;
}
train::LogLine Line(int64_t step, double loss, double validation) {
  train::LogLine line = Line(step, loss);
  line.metrics["val_loss"] = validation;
  return line;
}

struct Seen {
  data::Picture picture;

  std::vector<double> At(int64_t x, int64_t y) const {
    std::vector<double> colour;
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t at = (y * picture.width + x) * 3 + c;
      colour.push_back(255 * static_cast<double>(picture.values[static_cast<size_t>(at)]));
    }
    return colour;
  }
  // Whether a pixel at the point has at least half of the colour.
  bool Has(Colour colour, double x, double y) const {
    const std::vector<double> seen = At(std::lround(x), std::lround(y));
    const double wanted[] = {static_cast<double>(colour.red), static_cast<double>(colour.green),
                             static_cast<double>(colour.blue)};
    double off = 0;
    double white = 0;
    for (size_t c = 0; c < 3; ++c) {
      off += std::abs(seen[c] - wanted[c]);
      white += std::abs(255 - wanted[c]);
    }
    return off < white / 2;
  }
};

Seen Drawn(const std::vector<train::LogLine>& lines) {
  const auto png = LossPlot(lines);
  EXPECT_TRUE(png.ok()) << png.status();
  auto picture = data::DecodePng({reinterpret_cast<const uint8_t*>(png->data()), png->size()});
  EXPECT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->width, 960);
  EXPECT_EQ(picture->height, 600);
  EXPECT_EQ(picture->channels, 3);
  return {*std::move(picture)};
}

TEST(LossPlot, CurvesLieWhereTheValuesSay) {
  const Seen seen = Drawn({Line(1, 2.0), Line(51, 1.0), Line(101, 0.5, 1.5), Line(201, 0.25, 0.5)});
  // Steps 1 to 201 map to columns 90 to 940, losses 0 to 2 to rows 540 to 40.
  const auto x = [](double step) { return 90 + (step - 1) / 200 * 850; };
  const auto y = [](double loss) { return 540 - loss / 2 * 500; };
  for (const auto& [step, loss] : {std::pair{1.0, 2.0},
                                   {26.0, 1.5},  // between two data points
                                   {51.0, 1.0},
                                   {76.0, 0.75},
                                   {101.0, 0.5},
                                   {151.0, 0.375},
                                   {200.0, 0.2525}}) {
    EXPECT_TRUE(seen.Has(kLossColour, x(step), y(loss))) << "step " << step;
    EXPECT_FALSE(seen.Has(kLossColour, x(step), y(loss) + 12)) << "step " << step;
    EXPECT_FALSE(seen.Has(kLossColour, x(step), y(loss) - 12)) << "step " << step;
  }
  for (const auto& [step, loss] : {std::pair{101.0, 1.5}, {151.0, 1.0}, {201.0, 0.5}}) {
    EXPECT_TRUE(seen.Has(kValidationColour, x(step), y(loss))) << "step " << step;
  }
  EXPECT_FALSE(seen.Has(kValidationColour, x(51), y(2)));
  // The legend's lines.
  EXPECT_TRUE(seen.Has(kValidationColour, 940 - 8 * 12 - 20, 20));
  EXPECT_TRUE(seen.Has(kLossColour, 940 - 8 * 12 - 60 - 4 * 12 - 20, 20));
}

TEST(LossPlot, ManyValuesAreSmoothedOverThoseThemselves) {
  std::vector<train::LogLine> lines;
  for (int i = 0; i <= 400; ++i) lines.push_back(Line(i, i % 2 == 0 ? 1.2 : 0.8));
  lines.push_back(Line(401, 2));
  const Seen seen = Drawn(lines);
  const PlotFrame frame = FrameOf(lines);
  const Point middle = frame.At(200, 1);
  EXPECT_TRUE(seen.Has(kLossColour, middle.x, middle.y));
  const Point plain = frame.At(200, 1.15);
  EXPECT_TRUE(seen.Has(kPlainLossColour, plain.x, plain.y));
  EXPECT_FALSE(seen.Has(kLossColour, plain.x, plain.y));
}

TEST(LossPlot, FramesHaveRoundBordersAndAllThatIsFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  PlotFrame frame = FrameOf({Line(1, 2.31), Line(10, 0.02), Line(11, kInfinity), Line(12, NAN)});
  EXPECT_EQ(frame.least, 0);
  EXPECT_EQ(frame.most, 2.5);
  EXPECT_EQ(frame.first_step, 1);
  EXPECT_EQ(frame.last_step, 10);
  frame = FrameOf({Line(1, -3), Line(2, -1, 0.5)});
  EXPECT_EQ(frame.least, -3);
  EXPECT_EQ(frame.most, 1);
  for (const double loss : {0.0, 1e-30, -4.0, 1e30}) {
    const std::vector<train::LogLine> one = {Line(7, loss)};
    frame = FrameOf(one);
    EXPECT_LT(frame.least, frame.most) << loss;
    const Point at = frame.At(7, loss);
    EXPECT_TRUE(at.y >= frame.top - 1 && at.y <= frame.bottom + 1) << loss;
    EXPECT_TRUE(Drawn(one).Has(kLossColour, at.x, at.y)) << loss;
  }
  Drawn({});
  Drawn({Line(1, NAN)});
}

TEST(Canvas, EveryCharacterLooksAnother) {
  std::set<std::vector<uint8_t>> pictures;
  const std::string characters = "abcdefghijklmnopqrstuvwxyz0123456789.-+_()/,:% ";
  for (const char character : characters) {
    Canvas canvas(Canvas::kTextHeight, Canvas::TextWidth("a"));
    canvas.Text(0, 0, std::string(1, character), {});
    EXPECT_TRUE(pictures.insert(canvas.pixels()).second) << character;
  }
}

TEST(Canvas, NothingIsDrawnOutside) {
  Canvas canvas(4, 5);
  canvas.Line({-100, -100}, {-3, -3}, 2, {});
  canvas.Text(100, 2, "8", {});
  EXPECT_THAT(canvas.pixels(), testing::Each(255));
  canvas.Text(-4, -3, "88", {});
  canvas.Line({-10, 1}, {20, 3}, 1, {});
  EXPECT_EQ(canvas.pixels().size(), 60u);
}

TEST(EncodePng, GivesThePixelsBack) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 3 * 7 * 5; ++i) pixels.push_back(static_cast<uint8_t>(i * 37));
  const auto png = data::EncodePng(7, 5, pixels);
  ASSERT_TRUE(png.ok()) << png.status();
  const auto picture =
      data::DecodePng({reinterpret_cast<const uint8_t*>(png->data()), png->size()});
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(data::PictureBytes(*picture, DataType::kUInt8, 3, true), pixels);
  EXPECT_THAT(data::EncodePng(7, 6, pixels).status().message(),
              testing::HasSubstr("7 rows of 6 pixels with 3 channels do not have 105 bytes"));
  EXPECT_FALSE(data::EncodePng(0, 0, {}).ok());
}

}  // namespace
}  // namespace tartan::cli::loss_plot_test
