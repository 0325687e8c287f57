// SPDX-License-Identifier: Apache-2.0
// Buffers of values for which operations differ between languages, and their comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/base/data_type.h"

namespace tartan {

// Returns zeros of both signs, ones, fractions, ties, extremes, subnormals, infinities and NaN, if
// the type has them.
std::vector<double> SpecialReals(DataType type);
std::vector<int64_t> SpecialIntegers(DataType type);

// Returns all special values, or the first or second members of all their pairs, as a dense buffer.
std::vector<uint8_t> SpecialBuffer(DataType type);
struct Pairs {
  std::vector<uint8_t> first, second;
};
Pairs SpecialPairs(DataType type);

// Returns vectors of `lanes` ordinary values, each with one pair of special values in one lane.
Pairs SpecialAmongOrdinary(DataType type, int lanes);

// Returns the text of one value of the buffer.
std::string ToText(DataType type, const std::vector<uint8_t>& buffer, int64_t i);

// Compares element `i` of both buffers. NaNs are equal; floats may differ by `ulps` units in the
// last place of `type`, and if `ulps` is 0, zeros must have equal signs. Returns "" if equal, else
// a text with both.
std::string Difference(DataType type, const std::vector<uint8_t>& expected,
                       const std::vector<uint8_t>& actual, int64_t i, double ulps);

}  // namespace tartan
