// SPDX-License-Identifier: Apache-2.0
// Strict parsing of numbers in options: the whole text must be a number within its bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::cli {

// Parses decimal digits with an optional minus. InvalidArgument, with the text and the bounds, for
// other texts and for numbers outside the bounds (inclusive).
absl::StatusOr<int64_t> ParseInteger(absl::string_view text, int64_t least, int64_t most);

// Parses a finite decimal number, such as 0.5 or 1e-3, but not NaN or infinity.
absl::StatusOr<double> ParseDouble(absl::string_view text, double least, double most);

// Parses a number of bytes: an integer with an optional suffix K, M, G or T (powers of 1024), such
// as 512M. InvalidArgument for other texts, for 0 and for overflow.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// Splits "a,b,c"; InvalidArgument if a part is empty.
absl::StatusOr<std::vector<std::string>> SplitList(absl::string_view text);

}  // namespace tartan::cli
