// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/in_parts.h"

#include <algorithm>
#include <thread>

#include "tile/base/parallel_map.h"

namespace tartan::evaluator {
namespace {

// Minimum time of a part, in ns: starting a thread takes about 30,000.
constexpr double kMinPartNs = 500'000;

}  // namespace

DivisibleLoop LongestLoop(const std::vector<HostLoop>& loops, size_t outer) {
  DivisibleLoop longest = {loops.size(), 1};
  for (size_t l = 0; l < outer; ++l) {
    if (longest.loop == loops.size() || loops[l].range > loops[longest.loop].range) {
      longest.loop = l;
    }
  }
  return longest;
}

void VisitInParts(const LoopNest& nest, DivisibleLoop divisible, double nanoseconds,
                  const std::function<void(const LoopNest&)>& visit) {
  if (divisible.loop >= nest.loops().size()) return visit(nest);
  const int64_t range = nest.loops()[divisible.loop].range;
  const int64_t groups = (range + divisible.multiple - 1) / divisible.multiple;
  const int64_t processors = std::thread::hardware_concurrency();
  const int64_t parts =
      std::min({processors, groups, static_cast<int64_t>(nanoseconds / kMinPartNs)});
  if (parts <= 1) return visit(nest);
  ParallelMap(static_cast<int>(parts), [&](int part) {
    const int64_t begin = groups * part / parts * divisible.multiple;
    const int64_t end = std::min(range, groups * (part + 1) / parts * divisible.multiple);
    visit(nest.Part(divisible.loop, begin, end));
    return true;
  });
}

}  // namespace tartan::evaluator
