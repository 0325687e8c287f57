// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/group_search.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "tile/plan/gpu/async_copies.h"
#include "tile/plan/gpu/group_cost.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu/held_index.h"
#include "tile/plan/gpu/thread_order.h"

namespace tartan::plan {
namespace {

constexpr int kMaxEvaluations = 700;  // plans costed per kernel; planning takes less than 20 ms
constexpr int kPatience = 48;  // expansions without progress until a starting point is abandoned
constexpr int64_t kManyOutputs = 2048;  // outputs per compute unit: its maximum work-items
constexpr int64_t kMaxHeld = 16;        // maximum values of an index per work-item
constexpr int64_t kMaxHeldAlone = 8;    // the same if work-items share no inputs
// Maximum values of a reduced index per step if work-items share no inputs.
constexpr int64_t kMaxStepAlone = 32;
constexpr int64_t kMaxWindow = 32;  // maximum points of a window that is one step
constexpr int64_t kMaxStep = 64;    // maximum values of a reduced index per step
// Minimum tiles of an index for which a partial last tile does not matter.
constexpr int64_t kManyTiles = 64;

std::vector<int64_t> Key(const GpuPlan& plan) {
  std::vector<int64_t> key = {plan.lane_index};
  for (const IndexSplit& split : plan.splits) {
    key.insert(key.end(), {split.vector, split.threads, split.blocks});
  }
  return key;
}

class Search {
 public:
  Search(const GroupProblem& problem, const HardwareSettings& settings)
      : problem_(problem), settings_(settings), held_index_(HeldIndex(problem.flat())) {}

  std::vector<GpuPlan> Run(int count) {
    std::vector<GpuPlan> starts = Starts();
    const int budget = kMaxEvaluations / static_cast<int>(starts.size());
    for (const GpuPlan& start : starts) From(start, budget);
    for (GpuPlan& start : starts) {
      if (!found_.empty()) break;
      Fit(&start);
      From(start, budget);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const GpuPlan& a, const GpuPlan& b) {
      return a.cost.microseconds < b.cost.microseconds;
    });
    if (static_cast<int>(found_.size()) > count) found_.resize(count);
    for (GpuPlan& plan : found_) Finish(&plan);
    return std::move(found_);
  }

  // Completes a plan that has splits and a lane index: thread parts, staging, buffering, cost.
  void Complete(GpuPlan* plan) const {
    const poly::FlatContraction& flat = problem_.flat();
    plan->thread_parts = OrderThreads(problem_, *plan);
    StageAccesses(problem_, plan);
    plan->buffering = Buffering::kNone;
    plan->cost = EstimateGroupCost(problem_, *plan, settings_);
    if (plan->staged.empty() || !flat.is_reduction()) return;
    if (plan->StepCount(flat) == 1) {
      // Inputs that few work-items share need not be staged first, which would delay all other
      // loads.
      if (plan->partial_threads(flat) == 1) return;
      GpuPlan direct = *plan;
      direct.staged.clear();
      direct.cost = EstimateGroupCost(problem_, direct, settings_);
      if (direct.cost.microseconds < plan->cost.microseconds) *plan = std::move(direct);
      return;
    }
    Try(Buffering::kRegisters, plan);
    if (settings_.matrix_local_bytes > 0 && CanCopyAsync(flat, *plan)) {
      Try(Buffering::kAsyncCopies, plan);
    }
  }

  // Adds the parts of a plan that the search does not need.
  void Finish(GpuPlan* plan) const {
    if (plan->buffering == Buffering::kAsyncCopies) RemovePadding(plan);
    const poly::FlatContraction& flat = problem_.flat();
    for (int i = flat.output_index_count; i-- > 0;) plan->grid_order.push_back(i);
    for (int i = problem_.index_count(); i-- > flat.output_index_count;) {
      plan->step_order.push_back(i);
    }
  }

 private:
  // Removes the padding of tiles that adjacent work-items read contiguously.
  void RemovePadding(GpuPlan* plan) const {
    for (StagedAccess& staged : plan->staged) {
      bool are_neighbours = true;
      for (const ThreadPart& part : plan->thread_parts) {
        const int dim = staged.layout.DimOf(part.index).first;
        are_neighbours &= dim < 0 || dim == staged.layout.VectorDim();
      }
      if (are_neighbours) staged.layout = WithoutPadding(std::move(staged.layout));
    }
    plan->cost = EstimateGroupCost(problem_, *plan, settings_);
  }

  void Try(Buffering buffering, GpuPlan* plan) const {
    const Buffering before = std::exchange(plan->buffering, buffering);
    const GroupCost cost = EstimateGroupCost(problem_, *plan, settings_);
    if (cost.microseconds <= plan->cost.microseconds) {
      plan->cost = cost;
    } else {
      plan->buffering = before;
    }
  }

  struct Later {
    bool operator()(const std::pair<double, int>& a, const std::pair<double, int>& b) const {
      return a > b;
    }
  };

  int64_t Range(int i) const { return problem_.flat().indices[i].range; }

  bool StoresVectors(int64_t lanes) const {
    const int i = problem_.contiguous_output();
    if (i < 0 || Range(i) % lanes != 0) return false;
    const poly::FlatContraction& flat = problem_.flat();
    for (const poly::Output& output : flat.outputs) {
      if (output.shape.type == DataType::kBool) return false;
    }
    for (const math::RangeConstraint& guard : flat.store_guard) {
      if (!guard.poly.coefficient(i).is_zero()) return false;
    }
    // Lanes that memory would serve one by one are better as work-items.
    for (const GroupProblem::Access& access : problem_.accesses()) {
      const bool relevant = access.in_outputs || !IsShared(access);
      const int64_t stride = access.flat.strides[i];
      if (relevant && stride != 0 && stride != 1) return false;
    }
    return true;
  }

  bool IsShared(const GroupProblem::Access& access) const {
    for (int i = 0; i < problem_.flat().output_index_count; ++i) {
      if (access.flat.strides[i] == 0 && Range(i) > 1 && i != held_index_) return true;
    }
    return false;
  }

  // Returns whether vectors along the output would be unaligned in some input, as with windows.
  bool ReadsLanesApart() const {
    const int lane = problem_.contiguous_output();
    return std::any_of(problem_.accesses().begin(), problem_.accesses().end(),
                       [&](const GroupProblem::Access& access) {
                         if (!access.in_body || IsShared(access)) return false;
                         if (lane < 0 || access.flat.strides[lane] != 1) return false;
                         for (int r = problem_.flat().output_index_count;
                              r < problem_.index_count(); ++r) {
                           if (access.flat.strides[r] % 2 != 0) return true;
                         }
                         return false;
                       });
  }

  bool HasSharedAccess() const {
    return std::any_of(problem_.accesses().begin(), problem_.accesses().end(),
                       [&](const GroupProblem::Access& access) {
                         return access.in_body && access.may_be_staged && IsShared(access);
                       });
  }

  // Returns the starting points, which differ in the indices that have vectors.
  std::vector<GpuPlan> Starts() const {
    const poly::FlatContraction& flat = problem_.flat();
    std::vector<GpuPlan> starts;
    GpuPlan plain;
    plain.splits.assign(flat.indices.size(), {});
    std::vector<GpuPlan> lanes;
    for (int64_t width : {4, 2}) {
      if (!lanes.empty() || !StoresVectors(width)) continue;
      GpuPlan with = plain;
      with.lane_index = problem_.contiguous_output();
      with.splits[with.lane_index].vector = width;
      lanes.push_back(with);
    }
    if (lanes.empty() || !HasSharedAccess() || ReadsLanesApart()) lanes.push_back(plain);
    for (const GpuPlan& lane : lanes) {
      starts.push_back(lane);
      if (!flat.is_reduction() || !HasSharedAccess()) continue;
      for (int i = 0; i < problem_.index_count(); ++i) {
        const bool contiguous = i < flat.output_index_count || IsNeighbour(i);
        if (i == lane.lane_index || i == held_index_ || Range(i) < 4 || !contiguous) continue;
        starts.push_back(lane);
        starts.back().splits[i].vector = 4;
      }
    }
    // If most inputs are read once, they are read directly, in vectors along a reduced index.
    const bool streams = std::any_of(
        problem_.accesses().begin(), problem_.accesses().end(),
        [&](const GroupProblem::Access& access) { return access.in_body && !IsShared(access); });
    if (flat.is_reduction() && streams) {
      for (int i = flat.output_index_count; i < problem_.index_count(); ++i) {
        if (!problem_.ReadsContiguously(i) || Range(i) < 4) continue;
        starts.push_back(plain);
        starts.back().lane_index = i;
        starts.back().splits[i].vector = 4;
      }
    }
    for (GpuPlan& start : starts) {
      if (held_index_ >= 0) start.splits[held_index_].blocks = Range(held_index_);
      Enlarge(&start);
      if (streams) TakeWindow(&start);
    }
    return starts;
  }

  // Enlarges a starting point to a plausible plan: a two-dimensional warp with some elements per
  // work-item, and some values of the reduced indices per step.
  void Enlarge(GpuPlan* plan) const {
    const int count = problem_.flat().output_index_count;
    auto grow = [&](int i, int64_t threads, int64_t held) {
      IndexSplit& split = plan->splits[i];
      while (split.threads < threads && split.tile() * 2 <= Range(i)) split.threads *= 2;
      for (int64_t factor : {7, 2, 2, 2}) {
        if (split.held() * factor > held || Range(i) % (split.tile() * factor) != 0) continue;
        split.blocks *= factor;
      }
    };
    const int first = problem_.contiguous_output();
    // Maximum values per index: more than one only if work-items share inputs; fewer with joined
    // sums.
    const int64_t most = HasSharedAccess()
                             ? std::max<int64_t>(8 / problem_.flat().accumulators_per_element(), 1)
                             : 1;
    int64_t held = 1;
    if (first >= 0) grow(first, 8, most);
    std::vector<int> others;
    for (int i = 0; i < count; ++i) {
      if (i != first && i != held_index_) others.push_back(i);
    }
    std::stable_sort(others.begin(), others.end(),
                     [&](int a, int b) { return Range(a) > Range(b); });
    for (int i : others) {
      int64_t threads = 1;
      for (const IndexSplit& split : plan->splits) threads *= split.threads;
      grow(i, std::max<int64_t>(32 / threads, 1), held < 4 ? std::max<int64_t>(most / held, 1) : 1);
      held *= plan->splits[i].held();
    }
    for (int i = problem_.index_count(); i-- > count;) grow(i, 1, 8);
  }

  // Shortens the longest step by half until the plan fits the device's memory.
  void Fit(GpuPlan* plan) const {
    const int first = problem_.flat().output_index_count;
    for (;;) {
      GpuPlan whole = *plan;
      Complete(&whole);
      if (std::isfinite(whole.cost.microseconds)) return;
      IndexSplit* longest = nullptr;
      for (int i = first; i < problem_.index_count(); ++i) {
        IndexSplit& split = plan->splits[i];
        if (longest == nullptr || split.blocks > longest->blocks) longest = &split;
      }
      if (longest == nullptr || longest->blocks == 1) return;
      longest->blocks = (longest->blocks + 1) / 2;
    }
  }

  // Makes a small window one step, so that a work-item reads overlapping elements once.
  void TakeWindow(GpuPlan* plan) const {
    int64_t window = 1;
    for (int i = problem_.flat().output_index_count; i < problem_.index_count(); ++i) {
      window *= Range(i);
      if (plan->splits[i].vector > 1) return;
    }
    if (window > kMaxWindow) return;
    for (int i = problem_.flat().output_index_count; i < problem_.index_count(); ++i) {
      plan->splits[i].blocks = Range(i);
    }
  }

  // Returns whether some access has stride 1 along the index.
  bool IsNeighbour(int i) const {
    return std::any_of(problem_.accesses().begin(), problem_.accesses().end(),
                       [&](const GroupProblem::Access& access) {
                         return access.in_body && access.flat.strides[i] == 1;
                       });
  }

  // Best-first search from a starting point: the best open plan is varied in every direction.
  void From(const GpuPlan& start, int budget) {
    std::vector<GpuPlan> plans = {start};
    Complete(&plans[0]);
    std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, Later> open;
    open.push({plans[0].cost.microseconds, 0});
    seen_.insert(Key(plans[0]));
    double best = plans[0].cost.microseconds;
    int patience = kPatience;
    while (!open.empty() && budget > 0 && patience-- > 0) {
      const int at = open.top().second;
      open.pop();
      for (GpuPlan& next : Grown(plans[at])) {
        if (!seen_.insert(Key(next)).second) continue;
        Complete(&next);
        --budget;
        if (!std::isfinite(next.cost.microseconds)) continue;
        open.push({next.cost.microseconds, static_cast<int>(plans.size())});
        if (next.cost.microseconds < best) patience = kPatience;
        best = std::min(best, next.cost.microseconds);
        plans.push_back(std::move(next));
      }
    }
    for (GpuPlan& plan : plans) {
      if (std::isfinite(plan.cost.microseconds) && plan.cost.microseconds < 2 * best) {
        found_.push_back(std::move(plan));
      }
    }
  }

  std::vector<GpuPlan> Grown(const GpuPlan& plan) const {
    std::vector<GpuPlan> result;
    for (int i = 0; i < problem_.index_count(); ++i) {
      if (i == held_index_) continue;
      const IndexSplit& split = plan.splits[i];
      const int64_t tiles = (Range(i) + split.tile() - 1) / split.tile();
      auto add = [&](int64_t threads, int64_t blocks) {
        result.emplace_back();
        result.back().splits = plan.splits;
        result.back().lane_index = plan.lane_index;
        result.back().splits[i].threads *= threads;
        result.back().splits[i].blocks *= blocks;
      };
      // Smaller splits are tried, too: a starting point may be too large along one index.
      if (split.threads > 1) {
        add(1, 1);
        result.back().splits[i].threads /= 2;
      }
      for (int64_t factor : {2, 3, 5, 7}) {
        if (split.blocks % factor != 0) continue;
        add(1, 1);
        result.back().splits[i].blocks /= factor;
      }
      if (tiles == 1) continue;
      if (CanThread(plan, i)) add(2, 1);
      const bool shares = HasSharedAccess();
      int64_t held = 1;
      for (int o = 0; o < problem_.flat().output_index_count; ++o) held *= plan.splits[o].held();
      if (!shares && problem_.is_output(i) && held >= kMaxHeldAlone) continue;
      const int64_t limit = problem_.is_output(i) ? (shares ? kMaxHeld : kMaxHeldAlone)
                                                  : (shares ? kMaxStep : kMaxStepAlone);
      for (int64_t factor : {2, 3, 5, 7}) {
        const bool may_be_left =
            factor == 2 || (shares && problem_.is_output(i) && tiles >= kManyTiles);
        const bool exact = may_be_left || tiles % factor == 0;
        if (exact && split.held() * factor <= limit) add(1, factor);
      }
    }
    return result;
  }

  bool CanThread(const GpuPlan& plan, int i) const {
    int64_t threads = 1;
    for (const IndexSplit& split : plan.splits) threads *= split.threads;
    if (threads * 2 > settings_.threads) return false;
    if (problem_.is_output(i)) return true;
    // Work-items share an output element only if there are few outputs, and along one reduced
    // index.
    if (problem_.flat().output_point_count() >= kManyOutputs * settings_.compute_units)
      return false;
    for (int r = problem_.flat().output_index_count; r < problem_.index_count(); ++r) {
      if (r != i && plan.splits[r].threads > 1) return false;
    }
    return true;
  }

  const GroupProblem& problem_;
  const HardwareSettings& settings_;
  const int held_index_;
  std::set<std::vector<int64_t>> seen_;
  std::vector<GpuPlan> found_;
};

}  // namespace

std::vector<GpuPlan> SearchGpuPlans(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings, int count) {
  const GroupProblem problem(flat);
  if (!problem.is_eligible() || !settings.has_local_memory || settings.threads < 32) return {};
  return Search(problem, settings).Run(count);
}

}  // namespace tartan::plan
