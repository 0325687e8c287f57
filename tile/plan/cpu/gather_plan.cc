// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/gather_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/base/match.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/cpu/propose.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Lanes are inserted one by one, so that more of them would make long code without gain.
constexpr int64_t kLanes = 4;
constexpr int64_t kRows = 8;            // rows per tile
constexpr int64_t kMaxOperations = 16;  // maximum operations per element

class GatherPlanner {
 public:
  GatherPlanner(const poly::FlatContraction& flat, const HardwareSettings& settings)
      : flat_(flat), settings_(settings), kernel_(flat, settings) {}

  std::optional<PlannedKernel> Run() const {
    if (HasChoices(kernel_) || kernel_.epilogue_operations > kMaxOperations) return std::nullopt;
    const int v = ContiguousIndex();
    if (v < 0) return std::nullopt;
    const std::vector<bool> computed = ComputedFrom();
    if (!computed[v]) return std::nullopt;
    const int row = SharedRow(computed);
    if (row < 0) return std::nullopt;
    CpuPlan plan = ScalarPlan(flat_, settings_.threads);
    plan.vector_index = v;
    plan.lanes = static_cast<int>(kLanes);
    plan.unroll[v] = kLanes;
    plan.unroll[row] = kRows;
    plan.order.clear();
    for (int i = 0; i < flat_.output_index_count; ++i) {
      plan.task[i] = flat_.indices[i].range;
      if (i != v && i != row) plan.order.push_back(i);
    }
    plan.order.insert(plan.order.end(), {row, v});
    const CpuCost cost = Cost(plan);
    CutTasks(flat_, kernel_.machine.TaskCount(cost.total()), &plan);
    return Propose(kernel_, std::move(plan), cost);
  }

 private:
  int ContiguousIndex() const {
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (kernel_.writes.front().strides[i] == 1 && flat_.indices[i].range >= kLanes) return i;
    }
    return -1;
  }

  // Per output index: whether a computed coordinate depends on it.
  std::vector<bool> ComputedFrom() const {
    std::vector<bool> depends(flat_.output_index_count, false);
    poly::VisitExprs(flat_, [&](const poly::Expr& expr) {
      const auto* read = std::get_if<poly::ReadAt>(&expr.node);
      if (read == nullptr) return;
      for (const poly::ExprPtr& coordinate : read->coordinates) {
        if (!std::holds_alternative<poly::Coordinate>(coordinate->node)) {
          AddDependence(coordinate, &depends);
        }
      }
    });
    return depends;
  }

  void AddPoly(const math::Affine& poly, std::vector<bool>* depends) const {
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (!poly.coefficient(i).is_zero()) (*depends)[i] = true;
    }
  }

  void AddDependence(const poly::ExprPtr& expr, std::vector<bool>* depends) const {
    Match(
        expr->node, [](const poly::Literal&) {}, [](const poly::Accumulator&) {},
        [&](const poly::Read& read) {
          for (const math::Affine& coord : flat_.accesses[read.access].coords) {
            AddPoly(coord, depends);
          }
        },
        [&](const poly::Coordinate& coordinate) { AddPoly(coordinate.poly, depends); },
        [&](const poly::Apply& apply) {
          for (const poly::ExprPtr& operand : apply.operands) AddDependence(operand, depends);
        },
        [&](const poly::InRange& in_range) {
          for (const math::RangeConstraint& c : in_range.constraints) AddPoly(c.poly, depends);
        },
        [&](const poly::ReadAt& read) {
          for (const poly::ExprPtr& coordinate : read.coordinates) {
            AddDependence(coordinate, depends);
          }
        },
        [&](const poly::Choice& choice) {
          AddPoly(choice.poly, depends);
          for (const poly::ExprPtr& value : choice.values) AddDependence(value, depends);
        });
  }

  // The longest index that no coordinate depends on; -1: none has kRows values.
  int SharedRow(const std::vector<bool>& computed) const {
    int row = -1;
    int64_t longest = kRows - 1;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (computed[i] || flat_.indices[i].range <= longest) continue;
      longest = flat_.indices[i].range;
      row = i;
    }
    return row;
  }

  // Each lane is read separately. Its position is computed once for all rows of a tile.
  CpuCost Cost(const CpuPlan& plan) const {
    const double points = static_cast<double>(flat_.output_point_count());
    CpuCost cost;
    double bytes = 0;
    for (const CpuKernel::Access& read : kernel_.reads) {
      const bool is_gathered = read.access < 0;
      const bool is_shared = !is_gathered && read.strides[plan.order[plan.order.size() - 2]] == 0;
      const double reads = is_shared ? points / kRows : points;
      cost.epilogue +=
          reads * (is_gathered ? cpu::kLaneCycles : 1.0 / kLanes / cpu::kLoadsPerCycle);
      bytes += reads * static_cast<double>(read.bytes);
    }
    for (const CpuKernel::Access& write : kernel_.writes) {
      bytes += points * static_cast<double>(write.bytes);
    }
    cost.epilogue += points * kernel_.epilogue_operations / kLanes;
    cost.AddStreams(bytes, cpu::kMemoryBytesPerCycle);
    return cost;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const CpuKernel kernel_;
};

}  // namespace

std::optional<PlannedKernel> GatherPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings) {
  if (merged.is_reduction() || !merged.store_guard.empty() || merged.outputs.size() != 1 ||
      merged.output_point_count() == 0) {
    return std::nullopt;
  }
  const GatherPlanner planner(merged, settings);
  return planner.Run();
}

}  // namespace tartan::plan
