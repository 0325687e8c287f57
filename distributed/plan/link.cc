// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/link.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tile/base/status_macros.h"

namespace tartan::plan_cluster {
namespace {

// Splits "12.5Gb" into 12.5 and "Gb". The number is 0 if there is none.
std::pair<double, absl::string_view> SplitUnit(absl::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  if (!absl::SimpleAtod(text.substr(0, end), &number)) number = 0;
  return {number, text.substr(end)};
}

// Bytes per second of "Gb" or "GB"; 0 for other units.
double BandwidthUnit(absl::string_view unit) {
  if (unit.size() != 2) return 0;
  const size_t power = absl::string_view("KMGT").find(unit[0]);
  if (power == absl::string_view::npos || (unit[1] != 'b' && unit[1] != 'B')) return 0;
  return std::pow(1000.0, static_cast<double>(power) + 1) / (unit[1] == 'b' ? 8 : 1);
}

}  // namespace

absl::StatusOr<double> ParseDuration(absl::string_view text) {
  const auto [number, unit] = SplitUnit(text);
  constexpr std::pair<absl::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name && number > 0 && std::isfinite(number)) return number * seconds;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is not a duration: a positive number with ns, us, ms, s, min, h or d"));
}

absl::StatusOr<Link> ParseLink(absl::string_view text, double latency_s) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const auto [number, unit] = SplitUnit(parts.first);
  Link link{latency_s, number * BandwidthUnit(unit)};
  if (!(link.bytes_per_s > 0) || !std::isfinite(link.bytes_per_s)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text,
                     "' is not a link: BANDWIDTH[:LATENCY], such as 400Gb (bits), 50GB (bytes) or "
                     "400Gb:3us"));
  }
  if (parts.first.size() < text.size()) {
    TARTAN_ASSIGN_OR_RETURN(link.latency_s, ParseDuration(parts.second));
  }
  return link;
}

Link Group::slowest() const {
  if (size <= per_host) return inside;
  if (per_host == 1) return between;
  return {std::max(inside.latency_s, between.latency_s),
          std::min(inside.bytes_per_s, between.bytes_per_s)};
}

Group Cluster::GroupOf(int64_t size, int64_t stride) const {
  const int64_t on_host = std::max<int64_t>(1, std::min(per_host / stride, size));
  return {size, on_host, inside, between};
}

}  // namespace tartan::plan_cluster
