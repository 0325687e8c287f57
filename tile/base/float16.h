// SPDX-License-Identifier: Apache-2.0
// The 16-bit float formats, converted exactly (rounding to nearest, ties to even).
#pragma once

#include <cstdint>

namespace tartan {

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

// Two numbers of bfloat16 in a word, the first one in its lower half; and of two such words the
// products of their halves, added up in float32, the upper one first.
int32_t PairBFloat16(float low, float high);
float DotBFloat16(int32_t a, int32_t b);

}  // namespace tartan
