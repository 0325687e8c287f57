// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/group_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/gpu/async_copies.h"
#include "tile/plan/gpu/group_traffic.h"
#include "tile/plan/gpu/unique_bytes.h"
#include "tile/plan/machine.h"
#include "tile/poly/coords.h"

namespace tartan::plan {
namespace {

// Figures of an NVIDIA compute unit; other GPUs are similar. All are empirical unless stated
// otherwise.
constexpr double kSchedulers = 4;         // warps that issue an instruction per cycle
constexpr double kMemoryLatency = 1000;   // cycles
constexpr double kLoadedLatency = 1500;   // cycles, when memory is busy
constexpr double kCachedLatency = 600;    // cycles, data in L2
constexpr double kLoadsAhead = 4;         // loads that a work-item has in flight
constexpr double kCachedBytes = 1 << 20;  // bytes, maximum traffic of a kernel whose data is in L2
constexpr double kIssueRate = 0.95;    // instructions per cycle and scheduler with very many warps
constexpr double kStalledWarps = 0.6;  // warps per scheduler that stalls cost
constexpr double kGroupCycles = 160;   // cycles between the starts of two work-groups
// Share of the shorter of compute and memory time that the longer does not hide.
constexpr double kUnhiddenShare = 0.15;
constexpr double kRegisterStall = 140;  // cycles: tile to local memory, barrier, first reads
// Cycles until the first reads of a tile already in local memory.
constexpr double kFirstReads = 40;
constexpr double kRoundLatency = 200;         // cycles per iteration of a loop that is not unrolled
constexpr double kConditionalLoad = 2.5;      // registers per conditionally loaded register
constexpr double kCheckInstructions = 3;      // instructions per constraint and point
constexpr double kCachedInstructions = 1500;  // instructions that fit the instruction cache
constexpr double kLoadedRegisters = 32;       // registers for loads in flight of a copy
constexpr double kBarrierLatency = 40;        // cycles
constexpr double kRaggedTiles = 0.15;  // share of the time per index with partial tiles; measured
// Accumulators per work-item beyond which tiles with asynchronous copies are slower than predicted.
// Measured on an H100 with 250 plans of GEMMs of 6304 rows.
constexpr double kManySums = 48;
constexpr double kManySumsCost = 1.06;  // factor on the compute time then; measured as above
// Cost of a spilled register, as share of compute time per register.
constexpr double kSpilledRegister = 2;

double Held(const GpuPlan& plan, size_t i) { return static_cast<double>(plan.splits[i].held()); }

// Estimates registers if `copies` of a staged tile's current elements are in registers.
double CountRegisters(const GroupProblem& problem, const GpuPlan& plan, double copies) {
  const poly::FlatContraction& flat = problem.flat();
  double outputs = 1;
  for (int i = 0; i < flat.output_index_count; ++i) outputs *= Held(plan, i);
  double words = gpu::kOverheadRegisters;
  if (flat.is_reduction()) words += outputs * ByteWidth(flat.accumulator_type) / 4;
  for (const StagedAccess& staged : plan.staged) {
    const GroupProblem::Access& access = problem.accesses()[staged.access];
    const double width = static_cast<double>(ByteWidth(ComputeType(access.type))) / 4;
    double held = 1;
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (access.flat.strides[i] != 0) held *= Held(plan, i);
    }
    if (staged.vector_index >= flat.output_index_count) {
      held *= static_cast<double>(plan.splits[staged.vector_index].vector);
    }
    double next = staged.is_there ? 0 : 1;

    for (const TileDim& dim : staged.layout.dims) {
      next *= static_cast<double>(dim.Rounds() * dim.vector);
    }
    // The conditions of loads in flight take registers, too.
    const double loads = staged.absorbed.empty() ? 1 : kConditionalLoad;
    words += copies * held * width;
    if (plan.buffering == Buffering::kRegisters) words += loads * next * width;
  }
  return words;
}

class Model {
 public:
  Model(const GroupProblem& problem, const GpuPlan& plan, const HardwareSettings& settings)
      : problem_(problem),
        plan_(plan),
        settings_(settings),
        machine_(settings),
        traffic_(problem, plan) {
    threads_ = static_cast<double>(plan.threads());
    warps_ = std::ceil(threads_ / gpu::kWarp);
  }

  GroupCost Estimate() {
    GroupCost cost = EstimateAlone(gpu::kResidentGroups);
    // A persistent megakernel has one group per compute unit, which executes several of the
    // kernel's work-groups.
    const bool may_be_in_sequence =
        settings_.batches_launches &&
        FitsLaunchBatch(plan_.threads(), static_cast<int64_t>(cost.local_bytes), false) &&
        IsShortForLaunchBatch(cost.microseconds, false);
    const double parts = std::floor(static_cast<double>(kMaxBatchWorkItems) / threads_);
    return may_be_in_sequence && parts < resident_ ? EstimateAlone(parts) : cost;
  }

 private:
  // Estimates the cost with at most `most_resident` work-groups per compute unit.
  GroupCost EstimateAlone(double most_resident) {
    const poly::FlatContraction& flat = problem_.flat();
    GroupCost cost;
    cost.groups = static_cast<double>(plan_.GroupCount(flat));
    cost.steps = static_cast<double>(plan_.StepCount(flat));
    cost.registers = RegisterCount(problem_, plan_) + traffic_.WindowRegisters();
    cost.local_bytes = LocalBytes();
    resident_ = std::min(ResidentGroups(cost), most_resident);
    const GroupWork step = flat.is_reduction() ? StepWork(&cost) : GroupWork{};
    const GroupWork end = EndWork();
    double operations = flat.is_reduction() ? static_cast<double>(problem_.operations() + 1) : 1;
    cost.flops = static_cast<double>(flat.point_count()) * operations;
    double done = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      const double tile = static_cast<double>(plan_.splits[i].tile());
      done *= std::ceil(static_cast<double>(flat.indices[i].range) / tile) * tile;
    }
    cost.waste = done / static_cast<double>(flat.point_count());
    cost.group_bytes = step.bytes * cost.steps + end.bytes;
    cost.dram_bytes = UniqueBytes(problem_, plan_);
    const double resident = resident_;
    cost.occupancy = resident * threads_ / gpu::kResidentItems;
    const double units = static_cast<double>(std::max<int64_t>(settings_.compute_units, 1));
    const double waves = std::floor(cost.groups / (units * resident));
    const double rest = std::ceil((cost.groups - waves * units * resident) / units);
    const double cycles = waves * GroupCycles(resident, step, end, cost.steps) +
                          (rest > 0 ? GroupCycles(rest, step, end, cost.steps) : 0);
    const double clock = machine_.cycles_per_us;
    const double bandwidth = machine_.memory_bytes_per_us;
    const bool has_many_sums = plan_.buffering == Buffering::kAsyncCopies && SumCount() > kManySums;
    const double computing = cycles / clock * (has_many_sums ? kManySumsCost : 1);
    // Small data is already in L2, whose latency is lower.
    const double latency = cost.dram_bytes < kCachedBytes ? kCachedLatency : kLoadedLatency;
    const double moving =
        cost.dram_bytes / bandwidth *
        Starvation(step, bandwidth / units * latency / clock, cost.groups / units);
    // Compute and memory time overlap only partly.
    cost.microseconds = machine_.launch_us + std::max(computing, moving) +
                        kUnhiddenShare * std::min(computing, moving);
    // Work-items that read memory directly are slower in partial tiles.
    if (step.bytes_ahead > 0) cost.microseconds *= 1 + kRaggedTiles * RaggedOutputs();
    // Registers beyond the limit are spilled to memory.
    cost.microseconds += std::max(cost.registers - gpu::kRegisters, 0.0) * kSpilledRegister *
                         (computing / gpu::kRegisters);
    const bool fits = NeededRegisters() <= gpu::kRegisters && resident >= 1 &&
                      cost.local_bytes <= static_cast<double>(MostLocalBytes(plan_, settings_));
    if (!fits) cost.microseconds = std::numeric_limits<double>::infinity();
    return cost;
  }

  // Number of output indices with several tiles, the last of which is partial.
  double RaggedOutputs() const {
    double count = 0;
    for (int i = 0; i < problem_.flat().output_index_count; ++i) {
      const int64_t tile = plan_.splits[i].tile();
      const int64_t range = problem_.flat().indices[i].range;
      count += range > tile && range % tile != 0 ? 1 : 0;
    }
    return count;
  }

  // Slowdown of memory because too few bytes are requested at a time. `wanted`: bytes in flight per
  // compute unit that saturate memory. `groups`: work-groups per compute unit, possibly less than
  // one.
  double Starvation(const GroupWork& step, double wanted, double groups) const {
    if (step.bytes_ahead == 0) return 1;
    return std::max(wanted / (std::min(resident_, groups) * step.bytes_ahead), 1.0);
  }

  double SumCount() const {
    double sums = 1;
    for (int i = 0; i < problem_.flat().output_index_count; ++i) sums *= Held(plan_, i);
    return sums;
  }

  double NeededRegisters() const { return CountRegisters(problem_, plan_, 1); }

  double LocalBytes() const {
    double bytes = 0;
    for (const StagedAccess& staged : plan_.staged) {
      if (staged.is_there) continue;
      const DataType type = ComputeType(problem_.accesses()[staged.access].type);
      bytes +=
          static_cast<double>(plan_.tile_buffer_count() * staged.layout.size * ByteWidth(type));
    }
    if (plan_.partial_threads(problem_.flat()) > 1) {
      const int lane_index = plan_.lane_index;
      const bool lanes = lane_index >= 0 && problem_.is_output(lane_index);
      bytes += threads_ * ByteWidth(problem_.flat().accumulator_type) *
               static_cast<double>(problem_.flat().accumulators_per_element()) *
               static_cast<double>(lanes ? plan_.splits[lane_index].vector : 1);
    }
    return bytes;
  }

  // Work per work-item and step.
  GroupWork StepWork(GroupCost* cost) const {
    GroupWork work;
    double updates = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) updates *= Held(plan_, i);
    const double operations = static_cast<double>(std::max<int64_t>(problem_.operations(), 1));
    work.instructions = updates * operations + 20;
    double reads = 0;
    for (const StagedAccess& staged : plan_.staged) {
      reads += traffic_.AddStaged(staged, &work);
    }
    cost->local_reads = reads / updates;
    const Checks checks = CountChecks();
    double loads = 0;
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      if (problem_.accesses()[a].in_body && !traffic_.IsStaged(static_cast<int>(a))) {
        loads += traffic_.AddDirect(problem_.accesses()[a], true, resident_, &work);
      }
    }
    const bool has_direct = loads > 0;
    // The compiler issues several loads before it waits for the first one.
    if (has_direct) {
      work.bytes_ahead = warps_ * work.bytes_asked / loads * std::min(loads, kLoadsAhead);
      // Positions in partial tiles are compared with the index's range.
      work.instructions +=
          loads * kCheckInstructions * RaggedOutputs() * (checks.count > 0 ? checks.share : 1);
    }
    // Each loaded position is checked once; its contribution is selected at each update.
    const double checked = has_direct ? loads * kCheckInstructions * checks.count + updates
                                      : updates * kCheckInstructions * checks.count;
    work.instructions += checked * checks.share;
    // Code that exceeds the instruction cache is slower.
    if (work.instructions > kCachedInstructions) {
      work.instructions += (work.instructions - kCachedInstructions) * checks.count * checks.share;
    }
    if (!plan_.staged.empty()) {
      work.latency += plan_.buffering == Buffering::kAsyncCopies ? kFirstReads : kRegisterStall;
      work.latency += kBarrierLatency;
      if (plan_.buffering == Buffering::kNone) {
        // The compiler issues several loads before it waits for the first one.
        work.latency += kMemoryLatency * std::ceil(work.loaded_registers / kLoadedRegisters);
      }
    }
    work.latency += static_cast<double>(plan_.Unroll(problem_.flat()).rounds - 1) * kRoundLatency;
    if (has_direct) work.latency += kMemoryLatency;
    return work;
  }

  // Constraints that filling does not replace, and the share of work-groups that must check them.
  struct Checks {
    double count = 0;
    double share = 0;
  };
  Checks CountChecks() const {
    const poly::FlatContraction& flat = problem_.flat();
    const std::vector<math::RangeConstraint> constraints = TileConstraints(flat, plan_.Tile());
    const std::vector<bool> filled = FilledConstraints(problem_, plan_);
    Checks checks;
    double unchecked = 1;
    for (size_t c = 0; c < constraints.size(); ++c) {
      if (filled[c]) continue;
      double tiles = 1;
      for (int i = 0; i < flat.output_index_count; ++i) {
        if (constraints[c].poly.coefficient(i).is_zero()) continue;
        tiles *= std::ceil(static_cast<double>(flat.indices[i].range) /
                           static_cast<double>(plan_.splits[i].tile()));
      }
      const auto [least, greatest] = poly::ValueRange(constraints[c].poly, flat.indices);
      const double edges = (least < 0 ? 1 : 0) + (greatest >= constraints[c].range ? 1 : 0);
      unchecked *= 1 - std::min(edges / tiles, 1.0);
      ++checks.count;
    }
    for (int i = 0; i < flat.output_index_count && checks.count > 0; ++i) {
      const int64_t tile = plan_.splits[i].tile();
      const int64_t range = flat.indices[i].range;
      if (range % tile != 0) unchecked *= 1 - 1 / std::ceil(static_cast<double>(range) / tile);
    }
    checks.share = 1 - unchecked;
    return checks;
  }

  GroupWork EndWork() const {
    GroupWork work;
    double elements = 1;
    for (int i = 0; i < problem_.flat().output_index_count; ++i) elements *= Held(plan_, i);
    const auto sums = static_cast<double>(problem_.flat().accumulators_per_element());
    elements /= sums;
    for (const poly::Output& output : problem_.flat().outputs) {
      work.instructions += elements * static_cast<double>(OperationCount(output.expr));
      const int lane = plan_.lane_index;
      const bool has_lanes = lane >= 0 && problem_.output().strides[lane] == 1;
      const int64_t lanes = has_lanes ? plan_.splits[lane].vector : 1;
      if (problem_.is_local_output()) {
        work.instructions += elements / static_cast<double>(lanes);
        continue;
      }
      traffic_.AddMemory(problem_.output(), ByteWidth(output.shape.type), elements, lanes, &work);
    }
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      const GroupProblem::Access& access = problem_.accesses()[a];
      if (access.in_outputs && !traffic_.IsStaged(static_cast<int>(a)))
        traffic_.AddDirect(access, false, resident_, &work);
    }
    if (!problem_.flat().is_reduction()) {
      for (const StagedAccess& staged : plan_.staged) traffic_.AddStaged(staged, &work);
    }
    const double sharers = static_cast<double>(plan_.partial_threads(problem_.flat()));
    if (sharers > 1) {
      const double rounds = std::log2(sharers) + 1;
      work.instructions += elements * sums * rounds * 4;
      work.latency += elements * rounds * kBarrierLatency;
    }
    // Latency of the first tiles, or of results written to memory.
    if (!problem_.is_local_output() || plan_.buffering != Buffering::kNone) {
      work.latency += kMemoryLatency;
    }
    return work;
  }

  double ResidentGroups(const GroupCost& cost) const {
    // The register file has four times the registers of one group's accumulators, and local memory
    // is about four times the maximum of one group.
    const double registers = static_cast<double>(settings_.register_bytes);  // registers of 4 bytes
    const double rounded = std::ceil(std::min(cost.registers, 255.0) / 8) * 8;
    const double by_registers = std::floor(registers / (rounded * warps_ * gpu::kWarp));
    const double by_items = std::floor(gpu::kResidentItems / (warps_ * gpu::kWarp));
    double groups = std::min({by_registers, by_items, static_cast<double>(gpu::kResidentGroups)});
    if (cost.local_bytes > 0) {
      const double local = 4 * static_cast<double>(settings_.local_memory_bytes);
      groups = std::min(groups, std::floor(local / (cost.local_bytes + 1024)));
    }
    return groups;
  }

  // Cycles of a compute unit for `count` resident work-groups.
  double GroupCycles(double count, const GroupWork& step, const GroupWork& end,
                     double steps) const {
    auto cycles = [&](const GroupWork& work) {
      // Warps per scheduler: with more warps, a cycle without one that can issue is rarer.
      const double warps = std::ceil(count * warps_ / kSchedulers);
      const double issue = work.instructions * (warps + kStalledWarps) / kIssueRate;
      const double local = count * work.local_cycles;
      const double memory = count * work.bytes / gpu::kCacheBytesPerCycle;
      // Work-groups that start together stall together.
      return std::max({issue, local, memory}) + 0.2 * std::min(issue, local) + work.latency;
    };
    return std::max(steps * cycles(step) + cycles(end), count * kGroupCycles);
  }

  const GroupProblem& problem_;
  const GpuPlan& plan_;
  const HardwareSettings& settings_;
  const Machine machine_;
  const GroupTraffic traffic_;
  double threads_;
  double warps_;
  double resident_ = 1;  // work-groups per compute unit at a time
};

}  // namespace

// The compiler loads the next elements while it computes with the current ones.
double RegisterCount(const GroupProblem& problem, const GpuPlan& plan) {
  return CountRegisters(problem, plan, 1.5);
}

GroupCost EstimateGroupCost(const GroupProblem& problem, const GpuPlan& plan,
                            const HardwareSettings& settings) {
  return Model(problem, plan, settings).Estimate();
}

}  // namespace tartan::plan
