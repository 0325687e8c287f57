// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/tile_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/compute_cost.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/cpu/memory_cost.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::plan {
namespace {

// Number of register tiles per form that are tried with cache blocks.
constexpr size_t kBlockedTiles = 4;
constexpr int kMinLanes = 4;  // minimum width when vectors are narrowed to divide a row

void MoveLast(int index, std::vector<int>* order) {
  order->erase(std::find(order->begin(), order->end(), index));
  order->push_back(index);
}

}  // namespace

TileSearch::TileSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
                       const LaunchContext& launch)
    : flat_(flat), kernel_(flat, settings, launch), scalar_(StartPlan(kernel_)), choices_(flat) {}

std::vector<TileSearch::Candidate> TileSearch::Plain(size_t count, int vector_index) {
  RegisterTiles(vector_index);
  std::stable_sort(tiles_.begin(), tiles_.end(), [](const Candidate& a, const Candidate& b) {
    return a.cost.total() < b.cost.total();
  });
  if (tiles_.size() > count) tiles_.resize(count);
  plain_.clear();
  double least = 0;
  for (size_t t = 0; t < tiles_.size(); ++t) {
    // Memory only adds to a tile's own cost, and the remaining tiles cost more.
    if (t >= kBlockedTiles && count <= kTiles && tiles_[t].cost.total() >= least) {
      tiles_.resize(t);
      break;
    }
    best_ = {};
    Loops(tiles_[t], false);
    plain_.push_back(best_);
    least = t == 0 ? best_.cost.total() : std::min(least, best_.cost.total());
  }
  return plain_;
}

std::vector<TileSearch::Candidate> TileSearch::Blocked() {
  std::vector<size_t> by_cost(tiles_.size());
  std::iota(by_cost.begin(), by_cost.end(), size_t{0});
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](size_t a, size_t b) {
    return plain_[a].cost.total() < plain_[b].cost.total();
  });
  if (by_cost.size() > kBlockedTiles) by_cost.resize(kBlockedTiles);
  std::vector<Candidate> found;
  for (size_t t : by_cost) {
    if (!IsWorthBlocks(tiles_[t])) continue;
    best_ = {};
    Loops(tiles_[t], true);
    const std::vector<int>& order = plain_[t].plan.order;
    Order(tiles_[t], order, order, true);
    if (!best_.plan.task.empty()) found.push_back(best_);
  }
  return found;
}

CpuPlan TileSearch::StartPlan(const CpuKernel& kernel) {
  CpuPlan plan = ScalarPlan(kernel.flat, kernel.settings.threads);
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (kernel.chosen[i]) plan.unroll[i] = plan.task[i] = kernel.flat.indices[i].range;
  }
  return plan;
}

void TileSearch::RegisterTiles(int only) {
  if (only < 0) Rows(scalar_);
  for (int v = 0; v < IndexCount(); ++v) {
    if (only >= 0 && v != only) continue;
    const int lanes = Lanes(v);
    if (lanes < 2 || !MayVectorize(v)) continue;
    CpuPlan plan = scalar_;
    plan.vector_index = v;
    const bool is_reduced = v >= flat_.output_index_count;
    if (is_reduced) MoveLast(v, &plan.reduction_order);
    for (plan.lanes = lanes;; plan.lanes /= 2) {
      for (int64_t vectors = 1; vectors <= MostVectors() && vectors * plan.lanes <= Range(v);
           ++vectors) {
        plan.unroll[v] = vectors * plan.lanes;
        if (only < 0 || plan.unroll[v] == Range(v)) Rows(plan);
      }
      // Vectors that do not divide a row leave elements that are added one by one.
      if (!is_reduced || Range(v) % plan.lanes == 0 || plan.lanes <= kMinLanes) break;
    }
  }
}

int64_t TileSearch::MostVectors() const {
  // Vector instructions per element that fill the registers; empirical.
  constexpr double kManyOperations = 16;
  if (!kernel_.windows.empty()) return 7;
  return !flat_.is_reduction() && kernel_.epilogue_operations > kManyOperations ? 1 : 4;
}

void TileSearch::Rows(const CpuPlan& plan) {
  Consider(plan);
  for (int r = 0; r < flat_.output_index_count; ++r) {
    if (r == plan.vector_index || !MayUnroll(r)) continue;
    if (!flat_.is_reduction() && !IsTransposed(plan.vector_index, r)) continue;
    for (int64_t rows = 2; rows <= std::min<int64_t>(Range(r), 14); ++rows) {
      CpuPlan with_rows = plan;
      with_rows.unroll[r] = rows;
      if (!FitsRegisters(kernel_, with_rows)) break;
      Consider(with_rows);
      for (int s = r + 1; s < flat_.output_index_count; ++s) {
        if (s == plan.vector_index || !MayUnroll(s)) continue;
        for (int64_t more = 2; more <= std::min<int64_t>(Range(s), 7); ++more) {
          CpuPlan block = with_rows;
          block.unroll[s] = more;
          if (!FitsRegisters(kernel_, block)) break;
          Consider(block);
        }
      }
    }
  }
}

bool TileSearch::IsTransposed(int vector, int row) const {
  return std::any_of(kernel_.reads.begin(), kernel_.reads.end(),
                     [&](const CpuKernel::Access& read) {
                       return vector >= 0 && read.strides[row] == 1 && read.strides[vector] > 1;
                     });
}

void TileSearch::Consider(const CpuPlan& plan) {
  constexpr double kMaxStatements = 64;         // maximum statements of a tile
  constexpr double kMaxWindowStatements = 192;  // the same for unrolled windows
  Consider(plan, kMaxStatements);
  CpuPlan unrolled = plan;
  for (const CpuKernel::Window& window : kernel_.windows) {
    if (plan.unroll[window.output] > 1 && window.reduced != plan.vector_index &&
        MayUnroll(window.reduced)) {
      unrolled.unroll[window.reduced] = Range(window.reduced);
    }
  }
  if (unrolled == plan) return;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    const bool has_many_edges =
        !WindowConstraints(flat_, unrolled, i).empty() && !InnerTiles(flat_, unrolled, i);
    if (has_many_edges) return;
  }
  Consider(unrolled, kMaxWindowStatements);
}

void TileSearch::Consider(const CpuPlan& plan, double most_statements) {
  if (!FitsRegisters(kernel_, plan)) return;
  if (plan.lanes > 1 && !HasChoices(kernel_) && StatementCount(kernel_, plan) > most_statements) {
    return;
  }
  tiles_.push_back({plan, ComputeCost(kernel_, plan)});
}

int TileSearch::Lanes(int i) const {
  int64_t lanes = std::min<int64_t>(kernel_.settings.vector_width, 16);
  lanes = std::max<int64_t>(lanes * 4 / kernel_.element_bytes, 2);
  while (lanes > Range(i)) lanes /= 2;
  return static_cast<int>(lanes);
}

bool TileSearch::MayVectorize(int i) const {
  if (flat_.is_reduction() && flat_.accumulator_type == DataType::kBool) return false;
  return MayUnroll(i);
}

bool TileSearch::MayUnroll(int i) const {
  return !kernel_.chosen[i] && (!flat_.needs_hits() || !kernel_.constrained[i]);
}

bool TileSearch::IsWorthBlocks(const Candidate& tile) const {
  constexpr double kWorthCycles = 100000;  // minimum cycles that repay cache blocks; empirical
  return flat_.is_reduction() && !HasChoices(kernel_) && tile.plan.vector_index >= 0 &&
         tile.plan.vector_index < flat_.output_index_count && tile.cost.compute > kWorthCycles;
}

void TileSearch::Loops(const Candidate& tile, bool blocks) {
  std::vector<int> loops;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    if (Range(i) > tile.plan.unroll[i]) loops.push_back(i);
  }
  std::sort(loops.begin(), loops.end());
  // Cache blocks multiply the number of plans per loop order.
  const size_t permuted = blocks ? 3 : 4;
  std::vector<int> outer;
  while (loops.size() > permuted) {
    outer.push_back(loops.front());
    loops.erase(loops.begin());
  }
  do {
    std::vector<int> order = outer;
    order.insert(order.end(), loops.begin(), loops.end());
    Order(tile, std::move(order), loops, blocks);
  } while (std::next_permutation(loops.begin(), loops.end()));
}

void TileSearch::Order(const Candidate& tile, std::vector<int> order, const std::vector<int>& cut,
                       bool blocks) {
  CpuPlan plan = tile.plan;
  plan.order = std::move(order);
  for (int i = 0; i < flat_.output_index_count; ++i) {
    plan.task[i] = std::max<int64_t>(Range(i), 1);
    if (std::find(plan.order.begin(), plan.order.end(), i) == plan.order.end()) {
      plan.order.push_back(i);
    }
  }
  Tasks(plan, tile.cost, blocks);
  for (int i : cut) {
    if (!MayCut(plan, i)) continue;
    for (int64_t tiles = 1; tiles * plan.unroll[i] < Range(i); tiles *= 2) {
      CpuPlan part = plan;
      part.task[i] = tiles * plan.unroll[i];
      Tasks(part, tile.cost, blocks);
    }
  }
}

bool TileSearch::MayCut(const CpuPlan& plan, int i) const {
  return kernel_.windows.empty() || WindowConstraints(flat_, plan, i).empty();
}

void TileSearch::Tasks(CpuPlan plan, const CpuCost& cost, bool blocks) {
  CutTasks(flat_, kernel_.machine.TaskCount(cost.compute + cost.epilogue), &plan,
           [&](int i) { return MayCut(plan, i); });
  if (!blocks) return Cost(plan, cost);
  TryBlocks(kernel_, choices_, std::move(plan),
            [&](const CpuPlan& block) { Cost(block, ComputeCost(kernel_, block)); });
}

void TileSearch::Cost(const CpuPlan& plan, CpuCost cost) {
  AddMemoryCost(kernel_, plan, &cost);
  if (!best_.plan.task.empty() && cost.total() >= best_.cost.total()) return;
  if (plan.block && PrivateBytes(flat_, plan) > kMaxPrivateBytes) return;
  best_ = {plan, cost};
}

}  // namespace tartan::plan
