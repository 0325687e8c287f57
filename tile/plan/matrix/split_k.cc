// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/split_k.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/plan/gpu/factors.h"
#include "tile/plan/gpu/gpu_candidates.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix/matrix_search.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kChunkCounts[] = {2, 3, 4, 6, 8, 12, 16, 32};  // numbers of K chunks to try
constexpr int64_t kMinChunk = 256;                               // minimum length of a K chunk
constexpr int64_t kChunkUnit = 64;  // whole tiles of each format, in two slices
// Factor on the traffic of partial sums that a consumer adds up: they are written once, and the few
// work-groups that read them reach about half of the bandwidth. Empirical.
constexpr double kSumsMoved = 3;

// Returns the orders of output indices to try for partial results. Results that are contiguous
// along an index of neither factor's vectors would be stored one by one: weights' gradients of
// windows. The last index is one along which a factor is contiguous then, and the other factor's is
// before.
std::vector<std::vector<int>> PartialOrders(const poly::FlatContraction& flat) {
  const auto factors = FactorsOf(flat);
  if (!factors.has_value()) return {{}};
  const int count = flat.output_index_count;
  const auto contiguous = [&](const poly::FlatAccess& access) {
    const auto end = access.strides.begin() + count;
    const auto found = std::find(access.strides.begin(), end, 1);
    return found == end ? -1 : static_cast<int>(found - access.strides.begin());
  };
  const int first = contiguous(poly::Flatten(flat, factors->first));
  const int second = contiguous(poly::Flatten(flat, factors->second));
  const int stored = contiguous(
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size())));
  if (first < 0 || second < 0 || first == second || stored == first || stored == second) {
    return {{}};
  }
  std::vector<std::vector<int>> orders;
  for (const auto& [before, last] : {std::pair(first, second), std::pair(second, first)}) {
    std::vector<int> order;
    for (int i = 0; i < count; ++i) {
      if (i != before && i != last) order.push_back(i);
    }
    order.push_back(before);
    order.push_back(last);
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace

std::optional<SplitKReduction> BestSplitK(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings, MatrixFormat format,
                                          const std::vector<bool>& is_constant, bool only_equal) {
  // Partial results are not split again.
  if (settings.matrix_local_bytes == 0 || flat.outputs[0].value == ir::kNoValue ||
      !poly::CanSplitReduction(flat)) {
    return std::nullopt;
  }
  int longest = flat.output_index_count;
  for (int i = longest; i < static_cast<int>(flat.indices.size()); ++i) {
    if (flat.indices[i].range > flat.indices[longest].range) longest = i;
  }
  const int64_t range = flat.indices[longest].range;
  // Terms of the sum for each value of the index that is divided.
  const int64_t terms = flat.point_count() / flat.output_point_count() / range;
  if (range * terms < 2 * kMinChunk) return std::nullopt;
  const int64_t unit = terms == 1 ? kChunkUnit : 1;
  const Machine machine(settings);
  std::optional<SplitKReduction> best;
  const std::vector<std::vector<int>> orders = PartialOrders(flat);
  for (const int64_t chunks : kChunkCounts) {
    const int64_t length = (range + chunks * unit - 1) / (chunks * unit) * unit;
    if (length * terms < kMinChunk || length >= range) continue;
    if (only_equal && chunks * length != range) continue;
    for (const std::vector<int>& order : orders) {
      poly::SplitKernel split = poly::SplitReduction(flat, longest, length, order);
      const std::optional<PlannedKernel> partial =
          MatrixCandidate(poly::MergeIndices(split.partial), settings, format, is_constant);
      if (!partial.has_value()) return std::nullopt;
      const auto bytes = static_cast<double>(split.partial.outputs[0].shape.byte_size());
      const double moving_us = (only_equal ? kSumsMoved : 1) * bytes / machine.memory_bytes_per_us;
      const double microseconds = partial->predicted_us + moving_us;
      if (best.has_value() && microseconds >= best->partial_us + best->moving_us) continue;
      best = {std::move(split), chunks, partial->predicted_us, moving_us};
    }
  }
  return best;
}

std::optional<PlannedKernel> SplitKCandidate(const poly::FlatContraction& flat,
                                             const HardwareSettings& settings, MatrixFormat format,
                                             const std::vector<bool>& is_constant) {
  // The second kernel has the same form for all splits, so that only the best split plans it.
  std::optional<SplitKReduction> best =
      BestSplitK(flat, settings, format, is_constant, /*only_equal=*/false);
  if (!best.has_value()) return std::nullopt;
  return PlanTotal(std::move(best->kernels), best->partial_us, settings);
}

}  // namespace tartan::plan
