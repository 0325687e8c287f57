// SPDX-License-Identifier: Apache-2.0
// Buffers of the values where operations differ between languages, and their comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/base/data_type.h"

namespace tartan {

// Zeros of both signs, ones, halves, ties, extremes, subnormals, infinities and NaN, as far as the
// type has them.
std::vector<double> SpecialReals(DataType type);
std::vector<int64_t> SpecialIntegers(DataType type);

// Every value (or the first, or the second of every pair of values) as a dense buffer.
std::vector<uint8_t> SpecialBuffer(DataType type);
struct Pairs {
  std::vector<uint8_t> first, second;
};
Pairs SpecialPairs(DataType type);

// Vectors of `lanes` ordinary numbers, small ones among them, with each special number (one of the
// second operand beside it) in each lane.
Pairs SpecialAmongOrdinary(DataType type, int lanes);

// The number in the buffer.
std::string ToText(DataType type, const std::vector<uint8_t>& buffer, int64_t i);

// "" where element `i` of both buffers is the same number: two NaN are, and floats at most
// `ulps` units in the last place of `type` apart, zeros of one sign where `ulps` is 0; else a text
// with both.
std::string Difference(DataType type, const std::vector<uint8_t>& expected,
                       const std::vector<uint8_t>& actual, int64_t i, double ulps);

}  // namespace tartan
