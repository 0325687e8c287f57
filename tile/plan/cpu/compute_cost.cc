// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/compute_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/cpu_transpose.h"
#include "tile/plan/cpu/fetch_cost.h"
#include "tile/plan/cpu/lane_stores.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::plan {
namespace {

constexpr double kEveryOtherLoads = 5;  // cost of a vector of stride 2, in loads; empirical
constexpr double kLoopCycles = 3;       // cycles to enter and leave a loop; empirical
// Share of the time of a store loop over lanes (a load and a store per element) that a long
// following sum does not hide; empirical.
constexpr double kLeftOfLoopedLanes = 0.4;
constexpr int64_t kStepsThatHide = 64;  // minimum length of such a sum
// Bytes per cycle of the copy that an in-place update with overlapping tiles needs; empirical.
constexpr double kCopyBytesPerCycle = 2;
// Loop overhead per step of the innermost loop, cycles; empirical.
constexpr double kStepCycles = 0.5;

double CeilDiv(int64_t a, int64_t b) { return static_cast<double>((a + b - 1) / b); }

// Vector registers per value of the plan's vectors.
double RegistersPerValue(const CpuKernel& kernel, const CpuPlan& plan) {
  const double width = static_cast<double>(kernel.settings.vector_width) * 4;
  return std::max(1.0, static_cast<double>(plan.lanes * kernel.element_bytes) / width);
}

// Values of the tile along index i; a vector along the vector index counts as one.
int64_t Values(const CpuPlan& plan, int i) {
  return i == plan.vector_index ? plan.unroll[i] / plan.lanes : plan.unroll[i];
}

int64_t Accumulators(const CpuKernel& kernel, const CpuPlan& plan) {
  int64_t count = 1;
  for (int i = 0; i < static_cast<int>(plan.unroll.size()); ++i) {
    if (!IsUnrolled(kernel.flat, plan, i)) count *= Values(plan, i);
  }
  return count;
}

// Points of a tile that are added to the same accumulator.
int64_t WindowPoints(const CpuKernel& kernel, const CpuPlan& plan) {
  int64_t count = 1;
  for (int i = kernel.flat.output_index_count; i < static_cast<int>(plan.unroll.size()); ++i) {
    if (IsUnrolled(kernel.flat, plan, i)) count *= plan.unroll[i];
  }
  return count;
}

// Returns whether different points of a tile read the same element.
bool IsSliding(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access) {
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (plan.unroll[i] == 1) continue;
    for (int r = kernel.flat.output_index_count; r < static_cast<int>(plan.unroll.size()); ++r) {
      if (IsUnrolled(kernel.flat, plan, r) && Slides(kernel.flat, access.strides, i, r)) {
        return true;
      }
    }
  }
  return false;
}

// Returns whether wide vectors load the access's elements of stride 2 as two vectors and a shuffle.
bool IsEveryOther(const CpuPlan& plan, const CpuKernel::Access& access) {
  return access.strides[plan.vector_index] == 2 && plan.lanes >= cpu::kWideLanes;
}

// Values of the tile along indices that a poly::Choice depends on.
int64_t ChosenValues(const CpuKernel& kernel, const CpuPlan& plan) {
  int64_t count = 1;
  for (size_t i = 0; i < plan.unroll.size(); ++i) {
    if (kernel.chosen[i]) count *= Values(plan, static_cast<int>(i));
  }
  return count;
}

bool HasLongSums(const poly::FlatContraction& flat) {
  return flat.point_count() >= kStepsThatHide * flat.output_point_count();
}

// Cost of an access per step of the tile, in vector loads.
double AccessLoads(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access,
                   bool is_store) {
  double count = 1;
  for (size_t i = 0; i < plan.unroll.size(); ++i) {
    const bool follows = access.strides[i] != 0 || access.irregular[i];
    const bool is_reduced = static_cast<int>(i) >= kernel.flat.output_index_count;
    if (follows || (is_store && !is_reduced)) {
      count *= static_cast<double>(Values(plan, static_cast<int>(i)));
    }
  }
  if (!is_store && WindowPoints(kernel, plan) > 1) {
    count = static_cast<double>(DistinctElements(plan, access.strides));
  }
  const int v = plan.vector_index;
  if (plan.lanes == 1 || v < 0) return count;
  if (IsStaged(plan, access))
    return count * (access.strides[v] == 0 ? 1 : RegistersPerValue(kernel, plan));
  if (access.irregular[v]) return count * plan.lanes * 2 * cpu::kLaneCycles * cpu::kLoadsPerCycle;
  if (access.strides[v] == 0 && (!is_store || v >= kernel.flat.output_index_count)) return count;
  if (access.strides[v] == 1) return count * RegistersPerValue(kernel, plan);
  if (IsEveryOther(plan, access) && !is_store) return count * kEveryOtherLoads;
  if (is_store && HasLongSums(kernel.flat) && StoresLanesByLoop(kernel.flat, plan)) {
    return count * plan.lanes * kernel.core.stored_lane_cycles * kLeftOfLoopedLanes;
  }
  const double lane = is_store ? kernel.core.stored_lane_cycles : cpu::kLaneCycles;
  return count * plan.lanes * lane * cpu::kLoadsPerCycle;
}

// Returns whether a constraint on index i may be violated within a tile, so that it is checked at
// run time.
bool HasCheckedTiles(const CpuKernel& kernel, const CpuPlan& plan, int i) {
  return kernel.constrained[i] && plan.unroll[i] > 1 && !IsUnrolled(kernel.flat, plan, i) &&
         WindowConstraints(kernel.flat, plan, i).empty();
}

// Share of tiles in which some constraint needs a check.
double EdgeShare(const CpuKernel& kernel, const CpuPlan& plan) {
  double inside = 1;
  for (size_t i = 0; i < plan.unroll.size(); ++i) {
    if (!HasCheckedTiles(kernel, plan, static_cast<int>(i))) continue;
    const double tiles = CeilDiv(kernel.flat.indices[i].range, plan.unroll[i]);
    inside *= std::max(0.0, 1 - 1.4 / tiles);
  }
  return 1 - inside;
}

// L1 conflicts: the rows of a tile are a multiple of kConflictBytes apart, share few cache sets,
// and are evicted between two uses.
constexpr int64_t kConflictBytes = 4096;  // bytes of one way of L1 on x86
constexpr int64_t kMinWays = 8;           // minimum associativity of L1 on x86
constexpr double kConflictCost = 4;       // factor on the loads of conflicting rows; empirical

// Rows per L1 set, with one way left for other reads.
double RowsOfSet(const CpuKernel& kernel) {
  const int64_t ways = std::max(kernel.settings.l1_bytes / cpu::kWayBytes, kMinWays);
  return static_cast<double>(ways - 1);
}

double ConflictFactor(const CpuKernel& kernel, const CpuPlan& plan,
                      const CpuKernel::Access& access) {
  if (IsStaged(plan, access)) return 1;
  double rows = 1;
  double sets = 1;
  for (size_t i = 0; i < plan.unroll.size(); ++i) {
    const int64_t stride = std::abs(access.strides[i]) * access.bytes;
    const double values = static_cast<double>(Values(plan, static_cast<int>(i)));
    if (values == 1 || stride < 512) continue;
    rows *= values;
    const int64_t places = kConflictBytes / std::gcd(stride, kConflictBytes);
    sets = std::max(sets, std::min(values, static_cast<double>(places)));
  }
  return rows / sets > RowsOfSet(kernel) ? kConflictCost : 1;
}

// Steps of the innermost loop over a reduced index.
double InnermostSteps(const CpuKernel& kernel, const CpuPlan& plan) {
  for (size_t at = plan.reduction_order.size(); at-- > 0;) {
    const int i = plan.reduction_order[at];
    if (IsUnrolled(kernel.flat, plan, i)) continue;
    const bool is_chunk = plan.block && plan.block->chunk_index == i;
    const int64_t steps = is_chunk ? plan.block->chunk_length : kernel.flat.indices[i].range;
    return static_cast<double>(std::max<int64_t>(steps, 1));
  }
  return 1;
}

// Cycles to compute the outputs of one tile and to store them.
double ResultCycles(const CpuKernel& kernel, const CpuPlan& plan) {
  const int v = plan.vector_index;
  double output_values = 1;
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    output_values *= static_cast<double>(Values(plan, i));
  }
  double stores = 0;
  for (const CpuKernel::Access& access : kernel.writes) {
    stores += AccessLoads(kernel, plan, access, true);
  }
  double loads = 0;
  for (const CpuKernel::Access& access : kernel.reads) {
    if (!access.in_body) loads += AccessLoads(kernel, plan, access, false);
  }
  double tile = std::max(output_values * RegistersPerValue(kernel, plan) *
                             kernel.epilogue_operations / kernel.machine.operations_per_cycle,
                         stores + loads / cpu::kLoadsPerCycle);
  if (plan.lanes > 1) {
    tile += output_values * kernel.epilogue_irregular[v] * plan.lanes * cpu::kLaneCycles;
    if (kernel.epilogue_inside[v] < 1) {
      const double crossed = 1.4 * static_cast<double>(plan.unroll[v]) /
                             static_cast<double>(kernel.flat.indices[v].range);
      const double inside = std::max(0.0, kernel.epilogue_inside[v] - crossed);
      const double by_lane = output_values * plan.lanes * (kernel.epilogue_operations + 6);
      tile = inside * tile + (1 - inside) * by_lane + 2;
    }
  }
  return tile;
}

// Cycles of the copy, one more launch, that overlapping tiles over an updated buffer need.
double StateCopyCycles(const CpuKernel& kernel, const CpuPlan& plan) {
  const double bytes = kernel.launch.copied_bytes;
  if (bytes == 0 || plan.WritesEachElementOnce(kernel.flat)) return 0;
  return kernel.machine.LaunchCycles() + bytes / kCopyBytesPerCycle;
}

}  // namespace

bool FitsRegisters(const CpuKernel& kernel, const CpuPlan& plan) {
  const int64_t accumulators = Accumulators(kernel, plan);
  // Values of a poly::Choice share more than the registers hold in any case.
  if (HasChoices(kernel)) return accumulators == ChosenValues(kernel, plan);
  if (!kernel.flat.is_reduction()) {
    return accumulators <= 4 || IsTransposingTile(kernel, plan);
  }
  if (accumulators == 1) return true;
  // Vectors that several rows of the tile use stay in registers. Every other operand needs one at a
  // time.
  const int64_t points = WindowPoints(kernel, plan);
  int64_t operands = 1;
  for (const CpuKernel::Access& access : kernel.reads) {
    if (access.in_body && points > 1) {
      const int64_t distinct = DistinctElements(plan, access.strides);
      const bool is_kept = !IsSliding(kernel, plan, access) && distinct < accumulators * points;
      operands += is_kept ? distinct : 0;
      continue;
    }
    if (!access.in_body || plan.vector_index < 0 || access.strides[plan.vector_index] == 0)
      continue;
    int64_t distinct = 1;
    for (size_t i = 0; i < plan.unroll.size(); ++i) {
      if (access.strides[i] != 0) distinct *= Values(plan, static_cast<int>(i));
    }
    if (distinct < accumulators) operands += distinct;
  }
  const double needed =
      static_cast<double>(accumulators + operands) * RegistersPerValue(kernel, plan);
  return needed < kernel.registers;  // one register is left for constants and conditions
}

double StatementCount(const CpuKernel& kernel, const CpuPlan& plan) {
  const int v = plan.vector_index;
  const int64_t points = WindowPoints(kernel, plan);
  const bool loops_over_lanes = StoresLanesByLoop(kernel.flat, plan);
  double statements = 0;
  const auto count = [&](const CpuKernel::Access& access, bool is_store) {
    double places = 1;
    for (size_t i = 0; i < plan.unroll.size(); ++i) {
      const bool follows = access.strides[i] != 0 || access.irregular[i];
      const bool is_reduced = static_cast<int>(i) >= kernel.flat.output_index_count;
      if (follows || (is_store && !is_reduced)) {
        places *= static_cast<double>(Values(plan, static_cast<int>(i)));
      }
    }
    if (!is_store && points > 1) {
      places = static_cast<double>(DistinctElements(plan, access.strides));
    }
    const bool by_lane =
        plan.lanes > 1 &&
        (access.irregular[v] || (access.strides[v] > 1 && !IsEveryOther(plan, access)) ||
         (is_store && access.strides[v] != 1));
    // One store per vector, and one in the loop over its lanes.
    const double each = is_store && loops_over_lanes ? 2 : plan.lanes;
    statements += places * (by_lane ? each : 1);
  };
  for (const CpuKernel::Access& access : kernel.reads) count(access, false);
  for (const CpuKernel::Access& access : kernel.writes) count(access, true);
  const double accumulators = static_cast<double>(Accumulators(kernel, plan));
  if (points > 1) statements += accumulators * static_cast<double>(points);
  if (plan.lanes > 1) {
    statements +=
        accumulators * plan.lanes * (kernel.body_irregular[v] + kernel.epilogue_irregular[v]);
  }
  // If a constraint crosses the tile, its steps are generated twice.
  for (size_t i = 0; i < plan.unroll.size(); ++i) {
    if (HasCheckedTiles(kernel, plan, static_cast<int>(i))) {
      statements += accumulators * (static_cast<int>(i) == v ? 3.0 * plan.lanes : 3.0);
    }
  }
  // If a window crosses the border of the data, border tiles are generated separately.
  for (int i = 0; i < kernel.flat.output_index_count && points > 1; ++i) {
    const int64_t tiles =
        static_cast<int64_t>(CeilDiv(kernel.flat.indices[i].range, plan.unroll[i]));
    const auto inner = InnerTiles(kernel.flat, plan, i);
    if (!inner || tiles == 1) continue;
    const int64_t edges = tiles - (inner->end - inner->begin);
    statements *= static_cast<double>(edges + (edges < tiles ? 1 : 0));
  }
  return statements;
}

CpuCost ComputeCost(const CpuKernel& kernel, const CpuPlan& plan) {
  const poly::FlatContraction& flat = kernel.flat;
  const double per_value = RegistersPerValue(kernel, plan);
  const double accumulators = static_cast<double>(Accumulators(kernel, plan));
  const bool vector_is_reduced = plan.vector_index >= flat.output_index_count;
  double tiles = 1;
  for (int i = 0; i < flat.output_index_count; ++i) {
    tiles *= CeilDiv(flat.indices[i].range, plan.unroll[i]);
  }
  const int v = plan.vector_index;
  CpuCost cost;
  cost.exposed_l1 = kernel.core.exposed_l1;
  cost.exposed_beyond_l1 = kernel.core.exposed_beyond_l1;
  if (flat.is_reduction()) {
    double steps = 1;
    for (size_t i = flat.output_index_count; i < flat.indices.size(); ++i) {
      steps *= CeilDiv(flat.indices[i].range, plan.unroll[i]);
    }
    double loads = 0;
    double fetches = 0;
    for (const CpuKernel::Access& access : kernel.reads) {
      if (!access.in_body) continue;
      if (!plan.reduction_order.empty()) {
        fetches += PageCycles(kernel, plan, access) + StreamCycles(kernel, plan, access);
      }
      loads += AccessLoads(kernel, plan, access, false) * ConflictFactor(kernel, plan, access);
    }
    const double points = static_cast<double>(WindowPoints(kernel, plan));
    const double arithmetic = accumulators * per_value * kernel.body_operations * points;
    double step = std::max({arithmetic / kernel.machine.operations_per_cycle,
                            loads / cpu::kLoadsPerCycle, kernel.accumulate_cycles * points});
    step += kStepCycles + fetches + kernel.core.exposed_loads * loads / cpu::kLoadsPerCycle;
    if (plan.lanes > 1)
      step += accumulators * kernel.body_irregular[v] * plan.lanes * cpu::kLaneCycles;
    const double checked =
        accumulators * (plan.lanes > 1 && kernel.constrained[v] ? 4.0 * plan.lanes : 3.0);
    if (vector_is_reduced) {
      // The last elements of a row are added one by one, each after the preceding addition.
      const int64_t range = flat.indices[v].range;
      const int64_t rest = range % plan.unroll[v];
      const double rows = steps / CeilDiv(range, plan.unroll[v]);
      const double chain =
          std::max(kernel.accumulate_cycles, accumulators / static_cast<double>(Values(plan, v)) *
                                                 kernel.body_operations / cpu::kLoadsPerCycle);
      if (rest > 0) {
        steps -= rows;
        cost.compute += tiles * rows * static_cast<double>(rest) * (chain + kStepCycles);
      }
    }
    cost.compute += tiles * steps * (step + EdgeShare(kernel, plan) * checked);
    cost.epilogue += tiles * steps / InnermostSteps(kernel, plan) * kLoopCycles;
    if (vector_is_reduced) cost.epilogue += tiles * accumulators * (plan.lanes + 8) / 2;
  }
  cost.epilogue += tiles * (ResultCycles(kernel, plan) + kLoopCycles);
  cost.epilogue += StateCopyCycles(kernel, plan);
  return cost;
}

}  // namespace tartan::plan
