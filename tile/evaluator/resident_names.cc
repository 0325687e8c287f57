// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/resident_names.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/digest.h"
#include "tile/base/match.h"

namespace tartan::evaluator {

StepBuffers BuffersOf(const compiler::KernelList& list, const compiler::Step& step) {
  StepBuffers buffers;
  Match(
      step,
      [&](const compiler::LaunchStep& launch) {
        const loop::Kernel& kernel = list.kernels[launch.kernel];
        for (size_t p = 0; p < launch.buffers.size(); ++p) {
          const bool is_output = kernel.parameters[p].is_output;
          (is_output ? buffers.written : buffers.read).push_back(launch.buffers[p]);
        }
      },
      [&](const compiler::FillStep& fill) { buffers.written = {fill.buffer}; },
      [&](const compiler::CopyStep& copy) {
        buffers.read = {copy.from};
        buffers.written = {copy.to};
      });
  return buffers;
}

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
          uint64_t bits = 0;  // tells zeros and NaN apart
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
    const StepBuffers used = BuffersOf(list, step);
    // What was in the results before may show in them.
    const std::string made =
        Digest(absl::StrCat(what(step), arguments(used.read), "|", arguments(used.written)));
    for (size_t w = 0; w < used.written.size(); ++w) {
      names[used.written[w]] = absl::StrCat(made, " ", w);
    }
  }
  return names;
}

}  // namespace tartan::evaluator
