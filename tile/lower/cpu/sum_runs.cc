#include "tile/lower/cpu/sum_runs.h"

#include <algorithm>

#include "tile/plan/cpu/sliding_window.h"

namespace tartan::lower {
namespace {

constexpr int64_t kShortRun = 64;
constexpr int64_t kLongRun = 128;
constexpr int64_t kLongSum = 4 * kLongRun;

// Steps of a plan's loop over so many values of a reduced index.
int64_t StepsOf(const plan::KernelPlan& plan, int i, int64_t range) {
  return std::max<int64_t>(1, range / std::max<int64_t>(1, plan.unroll[i]));
}

// As few runs as there must be, or a few more where those are equally long.
int64_t StepsInRun(int64_t steps, int64_t longest) {
  if (longest <= 1) return 1;
  const int64_t least = (steps + longest - 1) / longest;
  for (int64_t runs = least; runs <= 2 * least && runs <= steps; ++runs) {
    if (steps % runs == 0) return steps / runs;
  }
  return (steps + least - 1) / least;
}

}  // namespace

SumRuns DivideSum(const poly::FlatContraction& flat, const plan::KernelPlan& plan) {
  if (flat.aggregation != Aggregation::kSum || flat.accumulator_type != DataType::kFloat32)
    return {};
  int64_t inside = 1;  // numbers for each accumulator within a step
  int64_t all = 1;
  for (int i : plan.reduction_order) {
    const bool is_unrolled = plan::IsUnrolled(flat, plan, i);
    if (is_unrolled) inside *= plan.unroll[i];
    all *= is_unrolled ? plan.unroll[i] : StepsOf(plan, i, flat.indices[i].range);
  }
  if (all < 2 * kShortRun) return {};
  const int64_t longest = all < kLongSum ? kShortRun : kLongRun;
  for (int level = static_cast<int>(plan.reduction_order.size()) - 1; level >= 0; --level) {
    const int i = plan.reduction_order[level];
    if (plan::IsUnrolled(flat, plan, i)) continue;
    const bool is_block_run = plan.block && plan.block->run_index == i;
    const int64_t steps = StepsOf(plan, i, is_block_run ? plan.block->run : flat.indices[i].range);
    if (inside * steps > longest) return {level, StepsInRun(steps, longest / inside)};
    inside *= steps;
  }
  return {};
}

}  // namespace tartan::lower
