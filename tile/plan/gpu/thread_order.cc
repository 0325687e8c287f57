// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/thread_order.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tartan::plan {

std::vector<ThreadPart> OrderThreads(const GroupProblem& problem, const GpuPlan& plan) {
  const int count = problem.index_count();
  std::vector<int64_t> left;
  for (const IndexSplit& split : plan.splits) left.push_back(split.threads);
  std::vector<ThreadPart> parts;
  auto take = [&](int i, int64_t limit) {
    const int64_t taken = std::min(left[i], limit);
    if (taken <= 1) return;
    parts.push_back({i, taken});
    left[i] /= taken;
  };
  // Work-items that share an element are adjacent. Along a contiguous lane index they are the
  // closest.
  const bool partial_first = plan.lane_index >= 0 && !problem.is_output(plan.lane_index);
  auto take_partial = [&] {
    if (plan.lane_index >= problem.flat().output_index_count) take(plan.lane_index, INT64_MAX);
    for (int i = problem.flat().output_index_count; i < count; ++i) take(i, INT64_MAX);
  };
  if (partial_first) take_partial();
  const int first = problem.contiguous_output();
  std::vector<int> order;
  for (int i = 0; i < problem.flat().output_index_count; ++i) {
    if (i != first) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(problem.output().strides[a]) < std::abs(problem.output().strides[b]);
  });
  if (first >= 0) {
    const bool has_vectors = plan.lane_index == first && plan.splits[first].vector > 1;
    const bool staged = problem.flat().is_reduction();
    take(first, staged ? (has_vectors ? 8 : 16) : INT64_MAX);
  }
  if (problem.flat().is_reduction()) {
    for (int i : order) {
      int64_t so_far = 1;
      for (const ThreadPart& part : parts) so_far *= part.count;
      if (so_far < 32) take(i, 32 / so_far);
    }
  }
  if (first >= 0) take(first, INT64_MAX);
  for (int i : order) take(i, INT64_MAX);
  if (!partial_first) take_partial();
  return parts;
}

}  // namespace tartan::plan
