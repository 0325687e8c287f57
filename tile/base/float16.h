// SPDX-License-Identifier: Apache-2.0
// Correctly rounded conversions of the 16-bit float formats (to nearest, ties to even).
#pragma once

#include <cstdint>

namespace tartan {

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

// PairBFloat16 packs two floats, rounded to bfloat16, into a word; `low` is in the lower half.
// DotBFloat16 multiplies the corresponding bfloat16 values of two words, and adds the results in
// float32, the upper one first.
int32_t PairBFloat16(float low, float high);
float DotBFloat16(int32_t a, int32_t b);

}  // namespace tartan
