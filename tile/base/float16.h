// SPDX-License-Identifier: Apache-2.0
// The 16-bit float formats, converted exactly (rounding to nearest, ties to even).
#pragma once

#include <cstdint>

namespace tartan {

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

}  // namespace tartan
