// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/pages/canvas.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"

namespace tartan::cli {
namespace {

constexpr int64_t kRows = 7;
constexpr int64_t kColumns = 5;
constexpr int64_t kScale = 2;  // pixels per dot

// Bit rows from the top, the leftmost dot first.
struct Glyph {
  char character;
  uint8_t rows[kRows];
};

constexpr Glyph kGlyphs[] = {
    {'0', {0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110}},
    {'1', {0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110}},
    {'2', {0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111}},
    {'3', {0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110}},
    {'4', {0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010}},
    {'5', {0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110}},
    {'6', {0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110}},
    {'7', {0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000}},
    {'8', {0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110}},
    {'9', {0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100}},
    {'a', {0b00000, 0b00000, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111}},
    {'b', {0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b11110}},
    {'c', {0b00000, 0b00000, 0b01110, 0b10000, 0b10000, 0b10001, 0b01110}},
    {'d', {0b00001, 0b00001, 0b01101, 0b10011, 0b10001, 0b10001, 0b01111}},
    {'e', {0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110}},
    {'f', {0b00110, 0b01001, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000}},
    {'g', {0b00000, 0b01111, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110}},
    {'h', {0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001}},
    {'i', {0b00100, 0b00000, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110}},
    {'j', {0b00010, 0b00000, 0b00110, 0b00010, 0b00010, 0b10010, 0b01100}},
    {'k', {0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010}},
    {'l', {0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110}},
    {'m', {0b00000, 0b00000, 0b11010, 0b10101, 0b10101, 0b10001, 0b10001}},
    {'n', {0b00000, 0b00000, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001}},
    {'o', {0b00000, 0b00000, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110}},
    {'p', {0b00000, 0b00000, 0b11110, 0b10001, 0b11110, 0b10000, 0b10000}},
    {'q', {0b00000, 0b00000, 0b01101, 0b10011, 0b01111, 0b00001, 0b00001}},
    {'r', {0b00000, 0b00000, 0b10110, 0b11001, 0b10000, 0b10000, 0b10000}},
    {'s', {0b00000, 0b00000, 0b01110, 0b10000, 0b01110, 0b00001, 0b11110}},
    {'t', {0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110}},
    {'u', {0b00000, 0b00000, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101}},
    {'v', {0b00000, 0b00000, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100}},
    {'w', {0b00000, 0b00000, 0b10001, 0b10001, 0b10101, 0b10101, 0b01010}},
    {'x', {0b00000, 0b00000, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001}},
    {'y', {0b00000, 0b00000, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110}},
    {'z', {0b00000, 0b00000, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111}},
    {'.', {0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b01100, 0b01100}},
    {',', {0b00000, 0b00000, 0b00000, 0b00000, 0b01100, 0b00100, 0b01000}},
    {':', {0b00000, 0b01100, 0b01100, 0b00000, 0b01100, 0b01100, 0b00000}},
    {'-', {0b00000, 0b00000, 0b00000, 0b11111, 0b00000, 0b00000, 0b00000}},
    {'+', {0b00000, 0b00100, 0b00100, 0b11111, 0b00100, 0b00100, 0b00000}},
    {'_', {0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b11111}},
    {'(', {0b00010, 0b00100, 0b01000, 0b01000, 0b01000, 0b00100, 0b00010}},
    {')', {0b01000, 0b00100, 0b00010, 0b00010, 0b00010, 0b00100, 0b01000}},
    {'/', {0b00000, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b00000}},
    {'%', {0b11000, 0b11001, 0b00010, 0b00100, 0b01000, 0b10011, 0b00011}},
};

// The distance of a point from a line segment.
double Distance(Point p, Point from, Point to) {
  const double x = to.x - from.x;
  const double y = to.y - from.y;
  const double length = x * x + y * y;
  const double share =
      length > 0 ? std::clamp(((p.x - from.x) * x + (p.y - from.y) * y) / length, 0.0, 1.0) : 0;
  return std::hypot(p.x - from.x - share * x, p.y - from.y - share * y);
}

}  // namespace

Canvas::Canvas(int64_t height, int64_t width)
    : height_(height), width_(width), pixels_(static_cast<size_t>(height * width * 3), 255) {}

void Canvas::Blend(int64_t x, int64_t y, double share, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  uint8_t* const pixel = &pixels_[static_cast<size_t>((y * width_ + x) * 3)];
  const uint8_t wanted[] = {colour.red, colour.green, colour.blue};
  for (int c = 0; c < 3; ++c)
    pixel[c] = static_cast<uint8_t>(std::lround(pixel[c] + (wanted[c] - pixel[c]) * share));
}

void Canvas::Line(Point from, Point to, double thickness, Colour colour) {
  const double reach = thickness / 2 + 1;
  const auto first = [&](double a, double b) {
    return std::max<int64_t>(0, static_cast<int64_t>(std::floor(std::min(a, b) - reach)));
  };
  const auto last = [&](double a, double b, int64_t size) {
    return std::min(size - 1, static_cast<int64_t>(std::ceil(std::max(a, b) + reach)));
  };
  for (int64_t y = first(from.y, to.y); y <= last(from.y, to.y, height_); ++y) {
    for (int64_t x = first(from.x, to.x); x <= last(from.x, to.x, width_); ++x) {
      const Point p{static_cast<double>(x), static_cast<double>(y)};
      const double share = std::clamp(thickness / 2 + 0.5 - Distance(p, from, to), 0.0, 1.0);
      if (share > 0) Blend(x, y, share, colour);
    }
  }
}

void Canvas::Text(int64_t x, int64_t y, absl::string_view text, Colour colour) {
  for (const char character : text) {
    const char small = absl::ascii_tolower(static_cast<unsigned char>(character));
    const auto* const glyph = std::find_if(std::begin(kGlyphs), std::end(kGlyphs),
                                           [&](const Glyph& g) { return g.character == small; });
    for (int64_t dot = 0; glyph != std::end(kGlyphs) && dot < kRows * kColumns; ++dot) {
      const int64_t row = dot / kColumns;
      const int64_t column = dot % kColumns;
      if ((glyph->rows[row] >> (kColumns - 1 - column) & 1) == 0) continue;
      for (int64_t p = 0; p < kScale * kScale; ++p)
        Blend(x + column * kScale + p % kScale, y + row * kScale + p / kScale, 1, colour);
    }
    x += (kColumns + 1) * kScale;
  }
}

int64_t Canvas::TextWidth(absl::string_view text) {
  return static_cast<int64_t>(text.size()) * (kColumns + 1) * kScale;
}

}  // namespace tartan::cli
