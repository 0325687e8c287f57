// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_cycles.h"

#include <algorithm>
#include <cmath>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

// Figures of an NVIDIA compute unit; empirical except for the number of schedulers.
constexpr double kWarpsAtOnce = 4;     // warps that issue an instruction per cycle
constexpr double kElementCycles = 4;   // cycles per element and warp for addresses, load and store
constexpr double kStageCycles = 80;    // stall cycles of a barrier and of the loads after it
constexpr double kJoinCycles = 160;    // stall cycles to reduce the partial results of a row
constexpr double kMemoryCycles = 700;  // latency of memory, cycles
constexpr double kVectorsAhead = 8;    // vectors that a work-item has in flight

// Bytes per element of a row that a stage moves from and to memory.
double BytesOf(const RowGroupStage& stage, const poly::RowKernel& kernel) {
  const poly::FlatContraction& flat = stage.block.flat;
  double bytes = 0;
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const int tensor = flat.accesses[a].tensor;
    const bool is_held = !stage.register_reads.empty() && stage.register_reads[a] >= 0;
    if (kernel.tensors[tensor] >= 0 || is_held) continue;
    bytes += static_cast<double>(ByteWidth(flat.tensors[tensor].shape.type));
  }
  if (kernel.output >= 0 || flat.is_reduction()) return bytes;
  for (const poly::Output& output : flat.outputs) {
    bytes += static_cast<double>(ByteWidth(output.shape.type));
  }
  return bytes;
}

StageCycles CyclesOf(const RowGroupStage& stage, const poly::RowKernel& kernel,
                     const RowGroupPlan& plan) {
  const poly::FlatContraction& flat = stage.block.flat;
  double operations = kElementCycles;
  if (flat.is_reduction()) operations += static_cast<double>(poly::OperationCount(flat.body)) + 1;
  for (const poly::Output& output : flat.outputs) {
    operations += static_cast<double>(poly::OperationCount(output.expr));
  }
  const double warps = std::ceil(static_cast<double>(plan.Threads()) / gpu::kWarp);
  const auto vectors = static_cast<double>(stage.Iterations(plan.row_threads));
  const double elements = vectors * static_cast<double>(stage.lanes * plan.item_rows);
  const double bytes = BytesOf(stage, kernel);
  const double moving =
      elements * bytes * static_cast<double>(plan.Threads()) / gpu::kCacheBytesPerCycle;
  StageCycles cycles;
  cycles.issue = std::max(elements * operations * warps / kWarpsAtOnce, moving);
  cycles.wait = kStageCycles;
  if (bytes > 0) cycles.wait += (std::ceil(vectors / kVectorsAhead) - 1) * kMemoryCycles;
  if (flat.is_reduction() && plan.row_threads > 1) cycles.wait += kJoinCycles;
  return cycles;
}

}  // namespace

StageCycles RowStagesCycles(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels) {
  StageCycles group;
  for (size_t s = 0; s < kernels.size(); ++s) {
    if (plan.stages[s].product.has_value()) continue;
    const StageCycles cycles = CyclesOf(plan.stages[s], kernels[s], plan);
    const auto turns = static_cast<double>(plan.ExecutionCount(s));
    group.issue += turns * cycles.issue;
    group.wait += turns * cycles.wait;
  }
  return group;
}

double GroupsUs(const RowGroupPlan& plan, const StageCycles& group, double resident,
                const HardwareSettings& settings) {
  const double units = static_cast<double>(std::max<int64_t>(settings.compute_units, 1));
  const double groups = static_cast<double>(plan.GroupCount());
  const double on_unit = std::ceil(groups / units);
  const double waits = std::ceil(on_unit / resident) * (group.wait + kMemoryCycles);
  return Machine(settings).Microseconds(on_unit * group.issue + waits);
}

double RowStagesUs(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels,
                   const HardwareSettings& settings) {
  const int64_t items = settings.batches_launches ? kMaxBatchWorkItems : gpu::kResidentItems;
  const double resident = std::max<double>(
      static_cast<double>(items / std::max<int64_t>(plan.Threads(), gpu::kWarp)), 1);
  return GroupsUs(plan, RowStagesCycles(plan, kernels), resident, settings);
}

}  // namespace tartan::plan
