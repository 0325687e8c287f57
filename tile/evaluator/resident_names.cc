// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/resident_names.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/digest.h"
#include "tile/base/match.h"

namespace tartan::evaluator {

std::vector<std::string> ResidentNames(const compiler::KernelList& list,
                                       const std::vector<std::string>& kernel_digests,
                                       std::vector<std::string> names) {
  const auto what = [&](const compiler::Step& step) {
    return Match(
        step,
        [&](const compiler::LaunchStep& launch) {
          if (launch.sizes.empty()) return kernel_digests[launch.kernel];
          return absl::StrCat(kernel_digests[launch.kernel], " ", absl::StrJoin(launch.sizes, ","),
                              "|", absl::StrJoin(launch.global_size, ","));
        },
        [](const compiler::FillStep& fill) {
          uint64_t bits = 0;  // distinguishes the signs of zeros and NaNs
          std::memcpy(&bits, &fill.value, sizeof(bits));
          return absl::StrCat("fill ", static_cast<int>(fill.type), " ", bits);
        },
        [](const compiler::CopyStep&) { return std::string("copy"); });
  };
  const auto arguments = [&](const std::vector<int>& buffers) {
    std::string text;
    for (int buffer : buffers) {
      absl::StrAppend(&text, "|", list.buffers[buffer].bytes, ":", names[buffer]);
    }
    return text;
  };
  for (const compiler::Step& step : list.setup) {
    const compiler::StepBuffers used = compiler::BuffersOf(list, step);
    // The names of written buffers are included, because their previous contents may affect the
    // result.
    const std::string made =
        Digest(absl::StrCat(what(step), arguments(used.read), "|", arguments(used.written)));
    for (size_t w = 0; w < used.written.size(); ++w) {
      names[used.written[w]] = absl::StrCat(made, " ", w);
    }
  }
  return names;
}

}  // namespace tartan::evaluator
