// SPDX-License-Identifier: Apache-2.0
// Numbers as a user writes them in options: all of the text is the number, and it lies where it is
// allowed to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::cli {

// Decimal digits, a minus before them perhaps. InvalidArgument with the text and the bounds for
// anything else, and beyond the bounds (included).
absl::StatusOr<int64_t> ParseWhole(absl::string_view text, int64_t least, int64_t most);

// A finite decimal number, as 0.5 or 1e-3; NaN and infinity are none.
absl::StatusOr<double> ParseReal(absl::string_view text, double least, double most);

// Bytes: a whole number, with K, M, G or T behind it for powers of 1024, as 512M. InvalidArgument
// for anything else, for 0 and for more than there can be.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// The parts of "a,b,c"; InvalidArgument where one is empty.
absl::StatusOr<std::vector<std::string>> SplitList(absl::string_view text);

}  // namespace tartan::cli
