// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/quantize_block.h"

#include <algorithm>
#include <cmath>

namespace tartan::onnx {
namespace {

// Candidate scales: the scale at which the largest value just fits, and smaller ones, which clip
// that value and round the others more finely.
// kSteps: relative distance between candidates (empirical).
// kTried: number of candidates (empirical).
constexpr double kSteps = 0.04;
constexpr int kTried = 6;

struct BlockLimits {
  float least;
  float greatest;
};

float Rounded(float value, float inverse, const BlockLimits& limits) {
  return std::clamp(std::nearbyint(value * inverse), limits.least, limits.greatest);
}

double SquareError(const std::vector<float>& values, float scale, const BlockLimits& limits) {
  const float inverse = 1 / scale;
  double sum = 0;
  for (const float value : values) {
    const double error = value - Rounded(value, inverse, limits) * scale;
    sum += error * error;
  }
  return sum;
}

// The scale of a block.
// - 8 bits: no value is off by more than half a step, so the first candidate is taken.
// - 4 bits: the value of the largest magnitude maps to the minimum integer, since the range has one
//   more integer on that side. The sign of the scale follows from this.
float BestScale(const std::vector<float>& values, int64_t bits, const BlockLimits& limits) {
  float extreme = 0;
  for (const float value : values) {
    if (std::abs(value) > std::abs(extreme)) extreme = value;
  }
  const float scale = extreme / (bits == 8 ? limits.greatest : limits.least);
  if (scale == 0 || !std::isfinite(1 / scale)) return 0;
  if (bits == 8) return scale;
  float best = scale;
  double least = -1;
  for (int i = 0; i < kTried; ++i) {
    const auto tried = static_cast<float>(scale * (1 - kSteps * i));
    const double error = SquareError(values, tried, limits);
    if (least < 0 || error < least) {
      least = error;
      best = tried;
    }
  }
  return best;
}

}  // namespace

BlockedRows QuantizeRows(const float* values, int64_t rows, int64_t columns, int64_t row_stride,
                         int64_t column_stride, int64_t bits, int64_t block) {
  BlockedRows result{rows, columns, bits, block, {}, {}};
  const int64_t zero = int64_t{1} << (bits - 1);
  const BlockLimits limits{static_cast<float>(-zero), static_cast<float>(zero - 1)};
  const int64_t bytes = block * bits / 8;
  const int64_t parts = 8 / bits;
  result.numbers.assign(rows * result.blocks() * bytes, 0);
  result.scales.reserve(rows * result.blocks());
  std::vector<float> numbers;
  double squares = 0;
  double errors = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t b = 0; b < result.blocks(); ++b) {
      numbers.clear();
      for (int64_t k = b * block; k < std::min((b + 1) * block, columns); ++k) {
        numbers.push_back(values[r * row_stride + k * column_stride]);
      }
      const float scale = BestScale(numbers, bits, limits);
      const float inverse = scale == 0 ? 0 : 1 / scale;
      uint8_t* const at = result.numbers.data() + (r * result.blocks() + b) * bytes;
      for (int64_t i = 0; i < block; ++i) {
        const bool is_inside = i < static_cast<int64_t>(numbers.size());
        const float number = is_inside ? Rounded(numbers[i], inverse, limits) : 0;
        const auto stored = static_cast<uint8_t>(static_cast<int64_t>(number) + zero);
        at[i / parts] = static_cast<uint8_t>(at[i / parts] | stored << (i % parts * bits));
        if (!is_inside) continue;
        const double error = std::abs(numbers[i] - static_cast<double>(number) * scale);
        result.max_error = std::max(result.max_error, error);
        errors += error * error;
        squares += static_cast<double>(numbers[i]) * numbers[i];
      }
      result.scales.push_back(scale);
    }
  }
  result.rms_error = squares == 0 ? 0 : std::sqrt(errors / squares);
  return result;
}

}  // namespace tartan::onnx
