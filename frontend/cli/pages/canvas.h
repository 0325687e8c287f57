// SPDX-License-Identifier: Apache-2.0
// A raster image with drawing of lines and small text. Drawing outside the image has no effect.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace tartan::cli {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

// Coordinates of pixel centres: column x, row y, from the top left.
struct Point {
  double x = 0;
  double y = 0;
};

class Canvas {
 public:
  static constexpr int64_t kTextHeight = 14;

  // A white image.
  Canvas(int64_t height, int64_t width);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  const std::vector<uint8_t>& pixels() const { return pixels_; }  // red, green, blue, row by row

  // Draws an anti-aliased line with round ends; equal end points make a dot.
  void Line(Point from, Point to, double thickness, Colour colour);
  // Draws one line of text with its top left corner at (x, y). Supports lower-case letters, digits
  // and ". - + _ ( ) / , : %". Capitals are drawn in lower case, other characters as spaces.
  void Text(int64_t x, int64_t y, absl::string_view text, Colour colour);
  static int64_t TextWidth(absl::string_view text);

 private:
  void Blend(int64_t x, int64_t y, double share, Colour colour);

  const int64_t height_;
  const int64_t width_;
  std::vector<uint8_t> pixels_;
};

}  // namespace tartan::cli
