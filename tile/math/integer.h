// SPDX-License-Identifier: Apache-2.0
// Integer division with a known rounding direction, and the GCD.
#pragma once

#include <cstdint>

namespace tartan::math {

// Division rounded down and up, and the remainder in [0, b); all require b > 0.
constexpr int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr int64_t FloorMod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

// Never negative; Gcd(0, 0) == 0. Requires arguments above INT64_MIN.
constexpr int64_t Gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

}  // namespace tartan::math
