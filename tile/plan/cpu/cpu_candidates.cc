// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_candidates.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/tile_search.h"
#include "tile/plan/machine.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Cycles per element of an operand that is packed in each run; empirical.
constexpr double kPackCycles = 6;
// Factor on the cost of packed constants: a smaller predicted gain is within the model's error.
constexpr double kPackedConstantFactor = 1.01;
// Minimum reads per element that justify packing in each run; empirical.
constexpr double kReuseWorthPacking = 24;

// Number of forms that are tried with cache blocks.
constexpr size_t kBlockedForms = 5;

// A form of the kernel: as it is or with one operand packed, and the cost of packing.
struct Form {
  Form(poly::FlatContraction kernel, const HardwareSettings& settings, const LaunchContext& launch)
      : flat(std::move(kernel)), search(flat, settings, launch) {}

  double CostOf(const CpuCost& cost) const { return cost.total() * factor + cycles; }

  const poly::FlatContraction flat;
  TileSearch search;
  std::vector<PackedOperand> packed;
  double factor = 1;
  double cycles = 0;
  double least = 0;  // cycles, minimum over its plans without a block
};

// Searches plans with and without operands packed along an output index.
class PackingSearch {
 public:
  PackingSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
                const LaunchContext& launch, size_t tiles)
      : flat_(flat), settings_(settings), machine_(settings), launch_(launch), tiles_(tiles) {}

  std::vector<PlannedKernel> Run() {
    forms_.push_back(std::make_unique<Form>(flat_, settings_, launch_));
    Add(forms_.back()->search.Plain(tiles_), *forms_.back());
    if (flat_.is_reduction()) {
      for (int access = 0; access < static_cast<int>(flat_.accesses.size()); ++access) {
        for (int i = 0; i < flat_.output_index_count; ++i) {
          if (poly::CanPack(flat_, access, i) && IsWorthCopying(access)) TryBlocks(access, i);
        }
      }
    }
    // The unpacked form stays among the best ones, because its operands may be staged.
    std::stable_sort(forms_.begin() + 1, forms_.end(),
                     [](const auto& a, const auto& b) { return a->least < b->least; });
    for (size_t form = 0; form < std::min(forms_.size(), kBlockedForms); ++form) {
      Add(forms_[form]->search.Blocked(), *forms_[form]);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const PlannedKernel& a, const PlannedKernel& b) {
                       return a.predicted_us < b.predicted_us;
                     });
    return std::move(found_);
  }

 private:
  void Add(const std::vector<TileSearch::Candidate>& candidates, Form& form) {
    for (const TileSearch::Candidate& candidate : candidates) {
      const double total = form.CostOf(candidate.cost);
      form.least = form.least == 0 ? total : std::min(form.least, total);
      found_.push_back({form.flat, candidate.plan, form.packed, machine_.Microseconds(total),
                        candidate.cost.ToString()});
    }
  }

  double Elements(int access) const {
    return static_cast<double>(flat_.tensors[flat_.accesses[access].tensor].shape.element_count());
  }

  bool IsWorthCopying(int access) const {
    return launch_.is_constant[flat_.accesses[access].tensor] ||
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
      forms_.push_back(std::make_unique<Form>(std::move(packed.kernel), settings_, launch_));
      Form& form = *forms_.back();
      form.packed.push_back(
          {tensor, flat_.tensors[tensor].value, std::move(packed.copy), access, index, block});
      form.factor = launch_.is_constant[tensor] ? kPackedConstantFactor : 1;
      // A constant is packed once, but its packing kernel has to be compiled.
      form.cycles = launch_.is_constant[tensor]
                        ? machine_.CompileCycles(launch_.stays_in_cache)
                        : machine_.LaunchCycles() + kPackCycles * Elements(access);
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
  const Machine machine_;
  const LaunchContext& launch_;
  const size_t tiles_;  // register tiles per form
  std::vector<std::unique_ptr<Form>> forms_;
  std::vector<PlannedKernel> found_;
};

}  // namespace

std::vector<PlannedKernel> CpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings,
                                         const LaunchContext& launch, int count) {
  if (flat.output_point_count() == 0)
    return {{flat, ScalarPlan(flat, settings.threads), {}, 0, ""}};
  std::vector<PlannedKernel> plans =
      PackingSearch(flat, settings, launch, std::max<size_t>(count, TileSearch::kTiles)).Run();
  if (static_cast<int>(plans.size()) > count) plans.resize(count);
  return plans;
}

}  // namespace tartan::plan
