// SPDX-License-Identifier: Apache-2.0
// Converts elements between types; only precision may be lost.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "tile/base/data_type.h"

namespace tartan::data {

// Writes every element of `from` times `scale`, rounded to `to_type`. NaN and infinity stay so in a
// float type. Returns the index of the first element that cannot be converted, if there is one:
// - to a float type: a finite value becomes infinite;
// - to an integer type or bool: the value is not represented exactly.
//
// Requires `out` to have the same number of elements.
std::optional<int64_t> Convert(DataType from_type, absl::Span<const uint8_t> from, double scale,
                               DataType to_type, absl::Span<uint8_t> out);

}  // namespace tartan::data
