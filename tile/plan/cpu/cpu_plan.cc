// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_plan.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/cpu_blocks.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_transpose.h"
#include "tile/plan/cpu/sliding_window.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

struct Candidate {
  KernelPlan plan;
  CpuCost cost;
};

// Cycles to copy an element that is packed at every run, and to start the kernel that does it.
constexpr double kPackCycles = 6;
constexpr double kLaunchCycles = 20000;
// A packed constant costs a kernel to compile: small gains and small kernels are not worth it.
constexpr double kPackedConstantFactor = 1.01;
constexpr double kPackedConstantCycles = 50000;
// A copy at every run pays where each element is read so many times.
constexpr double kReuseWorthPacking = 24;

// Register tiles of each form whose loops are looked at.
constexpr size_t kTiles = 4;
// The forms that are tried with blocks, and of each the register tiles.
constexpr size_t kBlockedForms = 3;
constexpr size_t kBlockedTiles = 2;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Search {
 public:
  Search(const poly::FlatContraction& flat, const HardwareSettings& settings)
      : flat_(flat), kernel_(flat, settings), scalar_(StartPlan(kernel_)), choices_(flat) {}

  // The best order of loops for each of the `count` best register tiles. With `vector_index` given,
  // only plans with vectors along the whole of it.
  std::vector<Candidate> Plain(size_t count, int vector_index = -1) {
    RegisterTiles(vector_index);
    std::stable_sort(tiles_.begin(), tiles_.end(), [](const Candidate& a, const Candidate& b) {
      return a.cost.total() < b.cost.total();
    });
    if (tiles_.size() > count) tiles_.resize(count);
    plain_.clear();
    double least = 0;
    for (size_t t = 0; t < tiles_.size(); ++t) {
      // Memory only adds to what a tile costs by itself, and the next ones cost more.
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

  // The same with blocks of the tiles that are best without, where they may be worth it. After
  // Plain.
  std::vector<Candidate> Blocked() {
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

 private:
  // Nothing side by side but what a choice tells apart.
  static KernelPlan StartPlan(const CpuKernel& kernel) {
    KernelPlan plan = ScalarPlan(kernel.flat, kernel.settings.threads);
    for (int i = 0; i < kernel.flat.output_index_count; ++i) {
      if (kernel.chosen[i]) plan.unroll[i] = plan.task[i] = kernel.flat.indices[i].range;
    }
    return plan;
  }

  int64_t Range(int i) const { return flat_.indices[i].range; }
  int IndexCount() const { return static_cast<int>(flat_.indices.size()); }

  // Tiles of one vector index each, with up to two more indices in registers.
  void RegisterTiles(int only) {
    if (only < 0) Rows(scalar_);
    for (int v = 0; v < IndexCount(); ++v) {
      if (only >= 0 && v != only) continue;
      const int lanes = Lanes(v);
      if (lanes < 2 || !MayVectorize(v)) continue;
      KernelPlan plan = scalar_;
      plan.vector_index = v;
      plan.lanes = lanes;
      if (v >= flat_.output_index_count) MoveLast(v, &plan.reduction_order);
      for (int64_t vectors = 1; vectors <= MostVectors() && vectors * lanes <= Range(v);
           ++vectors) {
        plan.unroll[v] = vectors * lanes;
        if (only < 0 || plan.unroll[v] == Range(v)) Rows(plan);
      }
    }
  }

  // The compiler interleaves what is done to vectors side by side: with much to do, registers run
  // short. Where nothing is accumulated the processor overlaps one vector after the other anyway.
  int64_t MostVectors() const {
    constexpr double kManyOperations = 16;
    if (!kernel_.windows.empty()) return 7;
    return !flat_.is_reduction() && kernel_.epilogue_operations > kManyOperations ? 1 : 4;
  }

  void Rows(const KernelPlan& plan) {
    Consider(plan);
    for (int r = 0; r < flat_.output_index_count; ++r) {
      if (r == plan.vector_index || !MayUnroll(r)) continue;
      if (!flat_.is_reduction() && !IsTransposed(plan.vector_index, r)) continue;
      for (int64_t rows = 2; rows <= std::min<int64_t>(Range(r), 14); ++rows) {
        KernelPlan with_rows = plan;
        with_rows.unroll[r] = rows;
        if (!FitsRegisters(kernel_, with_rows)) break;
        Consider(with_rows);
        for (int s = r + 1; s < flat_.output_index_count; ++s) {
          if (s == plan.vector_index || !MayUnroll(s)) continue;
          for (int64_t more = 2; more <= std::min<int64_t>(Range(s), 7); ++more) {
            KernelPlan block = with_rows;
            block.unroll[s] = more;
            if (!FitsRegisters(kernel_, block)) break;
            Consider(block);
          }
        }
      }
    }
  }

  // Some read has its neighbours along `row`, not along the vector: a block of rows uses the cache
  // lines that the vector's lanes lie in.
  bool IsTransposed(int vector, int row) const {
    return std::any_of(kernel_.reads.begin(), kernel_.reads.end(),
                       [&](const CpuKernel::Access& read) {
                         return vector >= 0 && read.strides[row] == 1 && read.strides[vector] > 1;
                       });
  }

  void Consider(const KernelPlan& plan) {
    constexpr double kMostStatements = 64;
    constexpr double kMostWindowStatements = 192;
    Consider(plan, kMostStatements);
    KernelPlan unrolled = plan;
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
    Consider(unrolled, kMostWindowStatements);
  }

  void Consider(const KernelPlan& plan, double most_statements) {
    if (!FitsRegisters(kernel_, plan)) return;
    if (plan.lanes > 1 && !HasChoices(kernel_) && StatementCount(kernel_, plan) > most_statements) {
      return;
    }
    tiles_.push_back({plan, ComputeCost(kernel_, plan)});
  }

  // The widest vector that fits the index's range.
  int Lanes(int i) const {
    int64_t lanes = std::min<int64_t>(kernel_.settings.vector_width, 16);
    lanes = std::max<int64_t>(lanes * 4 / kernel_.element_bytes, 2);
    while (lanes > Range(i)) lanes /= 2;
    return static_cast<int>(lanes);
  }

  // What an element had of valid points is noted for a tile as a whole; flags are no vectors.
  bool MayVectorize(int i) const {
    if (flat_.is_reduction() && flat_.accumulator_type == DataType::kBool) return false;
    return MayUnroll(i);
  }
  bool MayUnroll(int i) const {
    return !kernel_.chosen[i] && (!flat_.needs_hits() || !kernel_.constrained[i]);
  }

  static void MoveLast(int index, std::vector<int>* order) {
    order->erase(std::find(order->begin(), order->end(), index));
    order->push_back(index);
  }

  // There is enough arithmetic for caches to matter.
  bool IsWorthBlocks(const Candidate& tile) const {
    constexpr double kWorthCycles = 100000;
    return flat_.is_reduction() && !HasChoices(kernel_) && tile.plan.vector_index >= 0 &&
           tile.plan.vector_index < flat_.output_index_count && tile.cost.compute > kWorthCycles;
  }

  // The order of loops and the size of tasks for one register tile; with blocks, those that have
  // one.
  void Loops(const Candidate& tile, bool blocks) {
    std::vector<int> loops;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (Range(i) > tile.plan.unroll[i]) loops.push_back(i);
    }
    std::sort(loops.begin(), loops.end());
    const size_t permuted = blocks ? 3 : 4;  // there are many blocks of each order
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

  // Whole tasks, and one of the loops `cut` in parts.
  void Order(const Candidate& tile, std::vector<int> order, const std::vector<int>& cut,
             bool blocks) {
    KernelPlan plan = tile.plan;
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
        KernelPlan part = plan;
        part.task[i] = tiles * plan.unroll[i];
        Tasks(part, tile.cost, blocks);
      }
    }
  }

  // The edges of windows are told where a work-item walks the whole range.
  bool MayCut(const KernelPlan& plan, int i) const {
    return kernel_.windows.empty() || WindowConstraints(flat_, plan, i).empty();
  }

  // Cuts the outermost loops until there is work for every core.
  void Tasks(KernelPlan plan, const CpuCost& cost, bool blocks) {
    constexpr double kTaskCycles = 40000;  // for which starting a work-item does not matter
    const double work = cost.compute + cost.epilogue;
    const auto wanted = static_cast<int64_t>(
        std::min(work / kTaskCycles, 4.0 * static_cast<double>(kernel_.settings.compute_units)));
    for (size_t level = 0; level < plan.order.size(); ++level) {
      const int i = plan.order[level];
      const int64_t items = plan.ItemCount(flat_);
      if (items >= wanted) break;
      if (!MayCut(plan, i)) continue;
      const int64_t steps = CeilDiv(plan.task[i], plan.unroll[i]);
      const int64_t parts = std::min(steps, CeilDiv(wanted, std::max<int64_t>(items, 1)));
      if (parts > 1) plan.task[i] = CeilDiv(steps, parts) * plan.unroll[i];
    }
    if (!blocks) return Cost(plan, cost);
    TryBlocks(kernel_, choices_, std::move(plan),
              [&](const KernelPlan& block) { Cost(block, ComputeCost(kernel_, block)); });
  }

  void Cost(const KernelPlan& plan, CpuCost cost) {
    AddMemoryCost(kernel_, plan, &cost);
    if (!best_.plan.task.empty() && cost.total() >= best_.cost.total()) return;
    if (plan.block && PrivateBytes(flat_, plan) > kMostPrivateBytes) return;
    best_ = {plan, cost};
  }

  const poly::FlatContraction& flat_;
  const CpuKernel kernel_;
  const KernelPlan scalar_;
  const BlockChoices choices_;
  std::vector<Candidate> tiles_;
  std::vector<Candidate> plain_;  // the best of each tile without a block
  Candidate best_;
};

// The kernel as it is, or with an operand packed, and what packing costs.
struct Form {
  Form(poly::FlatContraction kernel, const HardwareSettings& settings)
      : flat(std::move(kernel)), search(flat, settings) {}

  double CostOf(const CpuCost& cost) const { return cost.total() * factor + cycles; }

  const poly::FlatContraction flat;
  Search search;
  std::vector<PackedOperand> packed;
  double factor = 1;
  double cycles = 0;
  double least = 0;  // of its plans without a block
};

// Plans with and without operands packed along an output index.
class PackingSearch {
 public:
  PackingSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
                const std::vector<bool>& is_constant, size_t tiles)
      : flat_(flat), settings_(settings), is_constant_(is_constant), tiles_(tiles) {}

  std::vector<PlannedKernel> Run() {
    forms_.push_back(std::make_unique<Form>(flat_, settings_));
    Add(forms_.back()->search.Plain(tiles_), *forms_.back());
    if (flat_.is_reduction()) {
      for (int access = 0; access < static_cast<int>(flat_.accesses.size()); ++access) {
        for (int i = 0; i < flat_.output_index_count; ++i) {
          if (poly::CanPack(flat_, access, i) && IsWorthCopying(access)) TryBlocks(access, i);
        }
      }
    }
    // The kernel as it is among them: its operands may be staged.
    std::stable_sort(forms_.begin() + 1, forms_.end(),
                     [](const auto& a, const auto& b) { return a->least < b->least; });
    for (size_t form = 0; form < std::min(forms_.size(), kBlockedForms); ++form) {
      Add(forms_[form]->search.Blocked(), *forms_[form]);
    }
    std::stable_sort(
        found_.begin(), found_.end(),
        [](const PlannedKernel& a, const PlannedKernel& b) { return a.predicted < b.predicted; });
    return std::move(found_);
  }

 private:
  void Add(const std::vector<Candidate>& candidates, Form& form) {
    for (const Candidate& candidate : candidates) {
      const double total = form.CostOf(candidate.cost);
      form.least = form.least == 0 ? total : std::min(form.least, total);
      found_.push_back({form.flat, candidate.plan, form.packed, total, candidate.cost.ToString()});
    }
  }

  double Elements(int access) const {
    return static_cast<double>(flat_.tensors[flat_.accesses[access].tensor].shape.element_count());
  }

  bool IsWorthCopying(int access) const {
    return is_constant_[flat_.accesses[access].tensor] ||
           static_cast<double>(flat_.point_count()) >= kReuseWorthPacking * Elements(access);
  }

  void TryBlocks(int access, int index) {
    const int64_t range = flat_.indices[index].range;
    const int tensor = flat_.accesses[access].tensor;
    for (int64_t vectors = 4; vectors >= 1; --vectors) {
      const int64_t block = vectors * settings_.vector_width;
      if (block >= range + settings_.vector_width) continue;
      if (range % block != 0 && ReadsAtComputed()) continue;
      poly::PackedKernel packed = poly::PackRead(flat_, access, index, block);
      const int lane = packed.kernel.output_index_count - 1;
      forms_.push_back(std::make_unique<Form>(std::move(packed.kernel), settings_));
      Form& form = *forms_.back();
      form.packed.push_back(
          {tensor, flat_.tensors[tensor].value, std::move(packed.copy), access, index, block});
      form.factor = is_constant_[tensor] ? kPackedConstantFactor : 1;
      form.cycles = is_constant_[tensor] ? kPackedConstantCycles
                                         : kLaunchCycles + kPackCycles * Elements(access);
      Add(form.search.Plain(tiles_, lane), form);
    }
  }

  bool ReadsAtComputed() const {
    bool any = false;
    poly::VisitExprs(flat_, [&](const poly::Expr& expr) {
      any |= std::holds_alternative<poly::ReadAt>(expr.node);
    });
    return any;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const std::vector<bool>& is_constant_;
  const size_t tiles_;  // register tiles to look at for each form
  std::vector<std::unique_ptr<Form>> forms_;
  std::vector<PlannedKernel> found_;
};

}  // namespace

std::vector<PlannedKernel> CpuPlans(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings,
                                    const std::vector<bool>& is_constant, int count) {
  if (flat.output_point_count() == 0)
    return {{flat, ScalarPlan(flat, settings.threads), {}, 0, ""}};
  std::vector<PlannedKernel> plans =
      PackingSearch(flat, settings, is_constant, std::max<size_t>(count, kTiles)).Run();
  const CpuKernel kernel(flat, settings);
  if (const std::optional<KernelPlan> plan = TransposingPlan(kernel)) {
    const CpuCost cost = TransposingCost(kernel, *plan);
    plans.insert(plans.begin(), {flat, *plan, {}, cost.total(), cost.ToString()});
  }
  if (static_cast<int>(plans.size()) > count) plans.resize(count);
  return plans;
}

}  // namespace tartan::plan
