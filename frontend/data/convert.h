// SPDX-License-Identifier: Apache-2.0
// Elements of one type as those of another, where nothing but precision is lost.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "tile/base/data_type.h"

namespace tartan::data {

// Writes every element of `from` times `scale`, rounded to the type. Gives the index of the first
// element, if any, for which a float type has no finite value, or an integer type or bool not
// exactly this one; NaN and infinity remain what they are in a float type. Requires as many
// elements in `out`.
std::optional<int64_t> Convert(DataType from_type, absl::Span<const uint8_t> from, double scale,
                               DataType to_type, absl::Span<uint8_t> out);

}  // namespace tartan::data
