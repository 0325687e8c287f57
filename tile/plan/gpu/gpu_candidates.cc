// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/gpu_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/parallel_map.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/gpu/group_search.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kLongReduction = 4096;  // minimum points per output element for a second kernel
constexpr int64_t kMinPartial = 256;      // minimum points per partial result
constexpr int64_t kGroupsPerUnit = 8;     // work-groups that keep a compute unit busy
// A matmul of this many multiply-adds is also split if it has enough work-groups: several chunks of
// large tiles can be faster than small tiles, or fill the last wave. Empirical.
constexpr int64_t kLargeMatmul = int64_t{1} << 30;
constexpr int64_t kLargeMatmulChunks[] = {2, 4, 8};
constexpr int64_t kMaxPartialBytes = int64_t{128} << 20;  // memory of its partial results

// A plan of one output element per work-item.
PlannedKernel PlainPlan(const poly::FlatContraction& flat, const HardwareSettings& settings) {
  // Only two work-group sizes are used, because some drivers compile each size separately.
  const bool large = flat.output_point_count() >= settings.threads;
  const int64_t threads = std::min<int64_t>(large ? settings.threads : 32, settings.threads);
  return {flat, ScalarPlan(flat, threads), {}, 0, ""};
}

PlannedKernel WithGroups(const poly::FlatContraction& flat, GpuPlan plan) {
  const double microseconds = plan.cost.microseconds;
  std::string cost = plan.cost.ToString();
  return {flat, std::move(plan), {}, microseconds, std::move(cost)};
}

// Returns whether some access has stride 1 along the index. K chunks then begin at whole memory
// lines.
bool IsContiguous(const poly::FlatContraction& flat, int index) {
  for (const poly::TensorAccess& access : flat.accesses) {
    const poly::FlatAccess at = poly::Flatten(access.coords, flat.tensors[access.tensor].shape.dims,
                                              static_cast<int>(flat.indices.size()));
    if (std::abs(at.strides[index]) == 1) return true;
  }
  return false;
}

// K chunk length for about `chunks` chunks: whole memory lines, or, if possible, equal chunks.
int64_t ChunkLength(int64_t range, int64_t chunks, int64_t line) {
  const int64_t most = (range + chunks - 1) / chunks;
  if (line > 1) return (most + line - 1) / line * line;
  for (int64_t length = most; length <= 2 * most && length < range; ++length) {
    if (range % length == 0) return length;
  }
  return most;
}

// The first kernel of a split with its plan.
struct Cut {
  int64_t chunks = 0;
  poly::SplitKernel split;
  std::optional<GpuPlan> plan;
};

// Returns the splits into about `chunks` chunks, one per reduced index, without plans.
std::vector<Cut> CutsInto(const poly::FlatContraction& flat, int64_t chunks,
                          const HardwareSettings& settings) {
  std::vector<Cut> cuts;
  const int64_t line = std::max<int64_t>(settings.cache_line_bytes / 4, 1);
  for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
    const int64_t range = flat.indices[i].range;
    const int64_t length = ChunkLength(range, chunks, IsContiguous(flat, i) ? line : 1);
    if (length < range) cuts.push_back({chunks, poly::SplitReduction(flat, i, length), {}});
  }
  return cuts;
}

// Plans the first kernels of the splits, which takes most of the time of planning a reduction.
void PlanCuts(const HardwareSettings& settings, std::vector<Cut>* cuts) {
  auto plans = ParallelMap(static_cast<int>(cuts->size()), [&](int c) {
    return SearchGpuPlans(poly::MergeIndices((*cuts)[c].split.partial), settings, 1);
  });
  for (size_t c = 0; c < plans.size(); ++c) {
    if (!plans[c].empty()) (*cuts)[c].plan = std::move(plans[c][0]);
  }
}

// Returns the split into `chunks` chunks whose first kernel is the fastest; null if there is none.
Cut* FastestInto(int64_t chunks, std::vector<Cut>* cuts) {
  Cut* fastest = nullptr;
  for (Cut& cut : *cuts) {
    if (cut.chunks != chunks || !cut.plan.has_value()) continue;
    const bool is_faster =
        fastest == nullptr || cut.plan->cost.microseconds < fastest->plan->cost.microseconds;
    if (is_faster) fastest = &cut;
  }
  return fastest;
}

// Returns the numbers of K chunks to try; none if a split cannot pay.
std::vector<int64_t> ChunkCounts(const poly::FlatContraction& flat, const GpuPlan& whole,
                                 const HardwareSettings& settings) {
  const int64_t wanted = kGroupsPerUnit * std::max<int64_t>(settings.compute_units, 1);
  const int64_t groups = whole.GroupCount(flat);
  const int64_t reduced = flat.point_count() / flat.output_point_count();
  std::vector<int64_t> counts;
  const auto add = [&](int64_t chunks) {
    chunks = std::min(chunks, reduced / kMinPartial);
    if (chunks > (counts.empty() ? 1 : counts.back())) counts.push_back(chunks);
  };
  if (groups * 2 <= wanted && reduced >= kLongReduction) {
    // The first kernel may have larger tiles than the whole kernel, so that it needs more chunks.
    for (const int64_t factor : {1, 4, 16}) add(factor * ((wanted + groups - 1) / groups));
  } else if (flat.point_count() >= kLargeMatmul && FactorsOf(flat).has_value()) {
    const int64_t bytes = flat.output_point_count() * ByteWidth(flat.accumulator_type);
    for (const int64_t chunks : kLargeMatmulChunks) {
      if (chunks * bytes <= kMaxPartialBytes) add(chunks);
    }
  }
  return counts;
}

// Splits the kernel if that may fill the device better and two kernels are predicted faster.
std::optional<PlannedKernel> SplitPlan(const poly::FlatContraction& flat, const GpuPlan& whole,
                                       const HardwareSettings& settings) {
  // Partial results are not split again.
  if (flat.outputs[0].value == ir::kNoValue) return std::nullopt;
  if (!poly::CanSplitReduction(flat)) return std::nullopt;
  const std::vector<int64_t> counts = ChunkCounts(flat, whole, settings);
  std::vector<Cut> cuts;
  for (const int64_t chunks : counts) {
    for (Cut& cut : CutsInto(flat, chunks, settings)) cuts.push_back(std::move(cut));
  }
  if (cuts.empty()) return std::nullopt;
  PlanCuts(settings, &cuts);
  std::optional<PlannedKernel> best;
  for (const int64_t chunks : counts) {
    Cut* cut = FastestInto(chunks, &cuts);
    if (cut == nullptr) continue;
    auto planned = PlanTotal(std::move(cut->split), cut->plan->cost.microseconds, settings);
    if (!planned.has_value() || !(planned->predicted_us < whole.cost.microseconds)) continue;
    if (!best.has_value() || planned->predicted_us < best->predicted_us) best = std::move(planned);
  }
  return best;
}

}  // namespace

std::vector<PlannedKernel> GpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings, int count) {
  std::vector<GpuPlan> groups = SearchGpuPlans(flat, settings, count);
  if (groups.empty()) return {PlainPlan(flat, settings)};
  std::vector<PlannedKernel> planned;
  if (auto split = SplitPlan(flat, groups[0], settings)) planned.push_back(*std::move(split));
  for (GpuPlan& group : groups) {
    if (static_cast<int>(planned.size()) == count) break;
    planned.push_back(WithGroups(flat, std::move(group)));
  }
  return planned;
}

std::optional<PlannedKernel> PlanTotal(poly::SplitKernel split, double partial_us,
                                       const HardwareSettings& settings) {
  const poly::FlatContraction total = poly::MergeIndices(std::move(split.total));
  std::vector<GpuPlan> plans = SearchGpuPlans(total, settings, 1);
  if (plans.empty()) return std::nullopt;
  PlannedKernel planned = WithGroups(total, std::move(plans[0]));
  planned.predicted_us += partial_us;
  planned.packing_us = partial_us;
  const int tensor = static_cast<int>(total.tensors.size()) - 1;
  planned.packed.push_back({tensor, ir::kNoValue, std::move(split.partial)});
  return planned;
}

}  // namespace tartan::plan
