// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/packed_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/math/integer.h"
#include "tile/plan/cpu/compute_cost.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/machine.h"
#include "tile/poly/pack.h"

namespace tartan::plan {
namespace {

// Returns a plan whose outer loops are over blocks of columns and whose inner loops are over rows,
// which read a block again. A tile has all columns of a block.
CpuPlan TilePlan(const CpuKernel& kernel, const CpuKernel::Access& matrix) {
  const poly::FlatContraction& flat = kernel.flat;
  const int lane = flat.output_index_count - 1;
  CpuPlan plan = ScalarPlan(flat, kernel.settings.threads);
  plan.vector_index = lane;
  plan.unroll[lane] = flat.indices[lane].range;
  std::stable_partition(plan.order.begin(), plan.order.end(),
                        [&](int i) { return i != lane && matrix.strides[i] != 0; });
  std::stable_sort(plan.reduction_order.begin(), plan.reduction_order.end(),
                   [&](int a, int b) { return matrix.strides[a] > matrix.strides[b]; });
  for (int i = 0; i < flat.output_index_count; ++i) {
    const int64_t range = flat.indices[i].range;
    plan.task[i] = range;
    if (i == lane || matrix.strides[i] != 0) continue;
    plan.unroll[i] = math::CeilDiv(range, math::CeilDiv(range, kStreamTileRows));
  }
  return plan;
}

CpuCost StreamCost(const CpuKernel& kernel, const CpuKernel::Access& matrix, const CpuPlan& plan) {
  CpuCost cost = ComputeCost(kernel, plan);
  const double bytes = ElementCount(kernel.flat, matrix) * static_cast<double>(matrix.bytes);
  if (kernel.launch.stays_in_cache) {
    cost.memory[0] = bytes / cpu::kOneStreamL2BytesPerCycle;
  } else {
    cost.AddStreams(bytes, cpu::kOneStreamBytesPerCycle);
  }
  return cost;
}

// Divides the matrix's output indices into about as many tasks as the work justifies, memory stalls
// included. If there are only blocks of columns, the number of tasks is a multiple of the cores,
// because all tasks stall equally long.
void Cut(const CpuKernel& kernel, const CpuKernel::Access& matrix, CpuPlan* plan) {
  const poly::FlatContraction& flat = kernel.flat;
  const int lane = flat.output_index_count - 1;
  const int64_t wanted = kernel.machine.TaskCount(StreamCost(kernel, matrix, *plan).total());
  std::vector<int> cut;
  for (int i = 0; i < lane; ++i) {
    if (matrix.strides[i] != 0) cut.push_back(i);
  }
  if (cut.size() == 1) {
    const int64_t cores = std::max<int64_t>(kernel.settings.compute_units, 1);
    const int64_t rounds = (wanted + cores / 2) / cores;
    const int64_t tasks = rounds == 0 ? wanted : rounds * cores;
    plan->task[cut[0]] = math::CeilDiv(flat.indices[cut[0]].range, tasks);
    return;
  }
  CutTasks(flat, wanted, plan, [&](int i) { return i != lane && matrix.strides[i] != 0; });
}

}  // namespace

int64_t StreamVectors(const CpuKernel& kernel) {
  const bool waits = kernel.accumulate_cycles > cpu::kAccumulateCycles;
  return waits ? 2 * kMaxStreamVectors : kMaxStreamVectors;
}

std::optional<PlannedKernel> PackedStreamPlan(const CpuKernel& merged_kernel, int matrix,
                                              int column, int64_t rows) {
  const poly::FlatContraction& merged = merged_kernel.flat;
  const HardwareSettings& settings = merged_kernel.settings;
  if (!poly::CanPack(merged, matrix, column)) return std::nullopt;
  const int64_t lanes = std::min<int64_t>(settings.vector_width, 16);
  const int64_t tile_rows = std::min(rows, kStreamTileRows);
  const int64_t block = lanes * std::max<int64_t>(StreamVectors(merged_kernel) / tile_rows, 1);
  if (lanes < 2 || merged.indices[column].range < block) return std::nullopt;
  const int tensor = merged.accesses[matrix].tensor;
  poly::PackedKernel packed = poly::PackRead(merged, matrix, column, block);
  const CpuKernel kernel(packed.kernel, settings, merged_kernel.launch);
  const auto read = std::find_if(kernel.reads.begin(), kernel.reads.end(),
                                 [&](const auto& access) { return access.access == matrix; });
  if (read == kernel.reads.end() || kernel.element_bytes != 4) return std::nullopt;
  CpuPlan plan = TilePlan(kernel, *read);
  plan.lanes = static_cast<int>(lanes);
  if (!FitsRegisters(kernel, plan)) return std::nullopt;
  Cut(kernel, *read, &plan);
  CpuCost cost = StreamCost(kernel, *read, plan);
  cost.DivideAmong(kernel.settings.compute_units, plan.ItemCount(kernel.flat));
  const double cycles = cost.total() + kernel.machine.CompileCycles(kernel.launch.stays_in_cache);
  PackedOperand operand{
      tensor, merged.tensors[tensor].value, std::move(packed.copy), matrix, column, block};
  return PlannedKernel{packed.kernel,
                       std::move(plan),
                       {std::move(operand)},
                       kernel.machine.Microseconds(cycles),
                       cost.ToString()};
}

}  // namespace tartan::plan
