// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/explain/units.h"

#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace tartan::api {
namespace {

std::string Scaled(double value, double step, absl::Span<const char* const> units) {
  size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return unit == 0 ? absl::StrFormat("%.0f%s", value, units[0])
                   : absl::StrFormat("%.1f%s", value, units[unit]);
}

}  // namespace

std::string FormatBytes(double bytes) {
  return Scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string FormatMs(double ms) {
  if (ms >= 1000) return absl::StrFormat("%.2f s", ms / 1000);
  return ms >= 10 ? absl::StrFormat("%.1f ms", ms) : absl::StrFormat("%.3f ms", ms);
}

std::string FormatMicroseconds(double us) {
  if (us >= 1000) return absl::StrFormat("%.2f ms", us / 1000);
  return us >= 10 ? absl::StrFormat("%.1f µs", us) : absl::StrFormat("%.2f µs", us);
}

std::string FormatCount(double count) { return Scaled(count, 1000, {"", " k", " M", " G", " T"}); }

std::string FormatFlops(double flops) {
  return Scaled(flops, 1000, {" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP"});
}

}  // namespace tartan::api
