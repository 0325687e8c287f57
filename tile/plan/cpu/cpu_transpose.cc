// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_transpose.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/cpu/propose.h"
#include "tile/plan/cpu/streamed_stores.h"

namespace tartan::plan {
namespace {

// Maximum vectors along the output's contiguous index, two cache lines, if stores bypass the
// caches. More would make long code.
constexpr int64_t kMaxVectors = 4;
constexpr int64_t kMaxCachedVectors = 2;  // the same for other stores: one cache line
constexpr int64_t kMaxOperations = 16;    // maximum operations per element

double Points(const CpuKernel& kernel) {
  return static_cast<double>(kernel.flat.output_point_count());
}

// Distinct bytes that an access touches.
double Bytes(const CpuKernel& kernel, const CpuKernel::Access& access) {
  double elements = 1;
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (access.strides[i] != 0) elements *= static_cast<double>(kernel.flat.indices[i].range);
  }
  return elements * static_cast<double>(access.bytes);
}

// The output index that has stride 1 in an access; -1: none.
int ContiguousIndex(const CpuKernel& kernel, const CpuKernel::Access& access) {
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (access.strides[i] == 1 && kernel.flat.indices[i].range > 1) return i;
  }
  return -1;
}

// Lanes of the widest vector that fits both ranges.
int Lanes(const CpuKernel& kernel, int v, int row) {
  int64_t lanes = std::min<int64_t>(kernel.settings.vector_width, 16);
  lanes = std::max<int64_t>(lanes * 4 / kernel.element_bytes, 2);
  const int64_t least = std::min(kernel.flat.indices[v].range, kernel.flat.indices[row].range);
  while (lanes > least) lanes /= 2;
  return static_cast<int>(lanes);
}

// The index along which most reads are contiguous, if it is not `v`; -1: none.
int RowOfReads(const CpuKernel& kernel, int v) {
  double transposed = 0;
  double all = 0;
  double most = 0;
  int row = -1;
  for (const CpuKernel::Access& read : kernel.reads) {
    const double bytes = Bytes(kernel, read);
    all += bytes;
    const int along = ContiguousIndex(kernel, read);
    if (along < 0 || along == v || read.strides[v] == 0 || read.irregular[v]) continue;
    transposed += bytes;
    if (bytes > most) {
      most = bytes;
      row = along;
    }
  }
  return 2 * transposed > all ? row : -1;
}

CpuCost CostOf(const CpuKernel& kernel, const CpuPlan& plan) {
  // Cycles per element of a transposed square of 8x8 or more; empirical.
  constexpr double kTurnCycles = 0.5;
  const double turning = kTurnCycles * std::max(8.0 / plan.lanes, 1.0);
  CpuCost cost;
  cost.epilogue = Points(kernel) * (turning * static_cast<double>(kernel.reads.size()) +
                                    kernel.epilogue_operations / plan.lanes);
  double bytes = 0;
  for (const CpuKernel::Access& read : kernel.reads) bytes += Bytes(kernel, read);
  for (const CpuKernel::Access& write : kernel.writes) bytes += Bytes(kernel, write);
  cost.AddStreams(bytes, cpu::kMemoryBytesPerCycle);
  return cost;
}

std::optional<PlannedKernel> Plan(const CpuKernel& kernel) {
  const poly::FlatContraction& flat = kernel.flat;
  if (flat.is_reduction() || HasChoices(kernel) || !flat.store_guard.empty() ||
      kernel.writes.size() != 1 || kernel.epilogue_operations > kMaxOperations) {
    return std::nullopt;
  }
  const int v = ContiguousIndex(kernel, kernel.writes[0]);
  const int row = v < 0 ? -1 : RowOfReads(kernel, v);
  if (row < 0 || kernel.epilogue_irregular[v] > 0 || kernel.epilogue_inside[v] < 1) {
    return std::nullopt;
  }
  CpuPlan plan = ScalarPlan(flat, kernel.settings.threads);
  plan.lanes = Lanes(kernel, v, row);
  if (plan.lanes < 2) return std::nullopt;
  plan.vector_index = v;
  const bool is_streamed = kernel.flat.outputs[0].shape.byte_size() >= kStreamedBytes;
  int64_t vectors = is_streamed ? kMaxVectors : kMaxCachedVectors;
  while (vectors * plan.lanes > flat.indices[v].range) vectors /= 2;
  plan.unroll[v] = vectors * plan.lanes;
  plan.unroll[row] = plan.lanes;
  // The innermost loop follows the contiguous index of the reads, which processors prefetch.
  plan.order.clear();
  for (int i = 0; i < flat.output_index_count; ++i) {
    plan.task[i] = std::max<int64_t>(flat.indices[i].range, 1);
    if (i != v && i != row) plan.order.push_back(i);
  }
  plan.order.insert(plan.order.end(), {v, row});
  const CpuCost cost = CostOf(kernel, plan);
  CutTasks(flat, kernel.machine.TaskCount(cost.total()), &plan);
  return Propose(kernel, std::move(plan), cost);
}

}  // namespace

bool IsTransposingTile(const CpuKernel& kernel, const CpuPlan& plan) {
  const int v = plan.vector_index;
  if (kernel.flat.is_reduction() || v < 0 || !kernel.flat.store_guard.empty()) return false;
  if (plan.unroll[v] > kMaxVectors * plan.lanes) return false;
  const int row = RowOfReads(kernel, v);
  if (row < 0 || plan.unroll[row] != plan.lanes) return false;
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (i != v && i != row && plan.unroll[i] != 1) return false;
  }
  return true;
}

std::optional<PlannedKernel> TransposePlan(const poly::FlatContraction& flat,
                                           const HardwareSettings& settings) {
  if (flat.output_point_count() == 0) return std::nullopt;
  return Plan(CpuKernel(flat, settings));
}

}  // namespace tartan::plan
