// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tartan::cli {
namespace {

absl::Status NoNumber(absl::string_view text, absl::string_view kind, const std::string& least,
                      const std::string& most) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a ", kind, " from ", least, " to ", most));
}

}  // namespace

absl::StatusOr<int64_t> ParseInteger(absl::string_view text, int64_t least, int64_t most) {
  const absl::string_view digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  const bool is_number =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  int64_t value = 0;
  if (is_number && absl::SimpleAtoi(text, &value) && value >= least && value <= most) return value;
  return NoNumber(text, "whole number", absl::StrCat(least), absl::StrCat(most));
}

absl::StatusOr<double> ParseDouble(absl::string_view text, double least, double most) {
  const bool has_spaces = text != absl::StripAsciiWhitespace(text);
  double value = 0;
  if (!has_spaces && absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= least &&
      value <= most) {
    return value;
  }
  return NoNumber(text, "number", absl::StrCat(least), absl::StrCat(most));
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  constexpr absl::string_view kUnits = "KMGT";
  absl::string_view digits = text;
  int64_t unit = 1;
  if (!text.empty() && kUnits.find(text.back()) != absl::string_view::npos) {
    unit = int64_t{1} << (10 * (kUnits.find(text.back()) + 1));
    digits.remove_suffix(1);
  }
  const auto count = ParseInteger(digits, 1, std::numeric_limits<int64_t>::max() / unit);
  if (count.ok()) return *count * unit;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a number of bytes, such as 1000000, 512M or 2G"));
}

absl::StatusOr<std::vector<std::string>> SplitList(absl::string_view text) {
  std::vector<std::string> parts = absl::StrSplit(text, ',');
  for (const std::string& part : parts) {
    if (!part.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has an empty part"));
  }
  return parts;
}

}  // namespace tartan::cli
