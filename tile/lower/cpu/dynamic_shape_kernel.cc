// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/dynamic_shape_kernel.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/tile_results.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/plan/select/ready_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Generic names, because one kernel serves many programs.
std::vector<std::string> IndexNames(const poly::FlatContraction& flat) {
  std::vector<std::string> names;
  for (size_t i = 0; i < flat.indices.size(); ++i) names.push_back(absl::StrCat("i", i));
  return names;
}

class DynamicShapeLowerer : IndexBuilder {
 public:
  DynamicShapeLowerer(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                      DataType index_type)
      : IndexBuilder(index_type),
        flat_(flat),
        plan_(plan),
        sizes_(index_type),
        indices_(flat, index_type, &sizes_),
        names_(IndexNames(flat)),
        chosen_(ChosenBy(flat)) {
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (RepeatsRows(i)) indices_.SetStep(i, Advance(i) == 1 ? 0 : 1);
    }
    if (flat.is_reduction()) reduction_.emplace(flat, plan, indices_, names_, nullptr);
    results_.emplace(flat, plan, indices_, reduction_ ? &*reduction_ : nullptr);
  }

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginKernel(flat_, name, indices_.index_type());
    kernel.body = Item(&kernel);
    kernel.sizes = sizes_.sizes();
    return kernel;
  }

 private:
  int64_t Range(int i) const { return flat_.indices[i].range; }
  ExprPtr RangeOf(int i) const { return indices_.Size(RangeRole(i), Range(i)); }
  // Returns whether the tile covers the whole range of the index, at every size of the program.
  bool IsWhole(int i) const {
    return (flat_.indices[i].is_lane || chosen_.count(i) > 0) && plan_.unroll[i] >= Range(i);
  }
  // The indices on which choices depend: their number of values is the number of alternatives.
  static std::set<int> ChosenBy(const poly::FlatContraction& flat) {
    std::set<int> chosen;
    poly::VisitExprs(flat, [&](const poly::Expr& expr) {
      const auto* choice = std::get_if<poly::Choice>(&expr.node);
      for (int i = 0; choice != nullptr && i < static_cast<int>(flat.indices.size()); ++i) {
        if (!choice->poly.coefficient(i).is_zero()) chosen.insert(i);
      }
    });
    return chosen;
  }

  // One tile per work-item: loops take long to compile, and starting a work-group is cheap. The
  // innermost index is the launch's first dimension, so that adjacent GPU work-items access
  // adjacent memory and CPUs process tiles in the plan's order. Dimensions past two are merged into
  // the third. Elementwise tiles are too small for this on CPUs, so a loop over the innermost index
  // remains.
  StmtPtr Item(loop::Kernel* kernel) {
    std::vector<int> looped;  // the innermost first
    for (size_t level = plan_.order.size(); level-- > 0;) {
      const int i = plan_.order[level];
      IsWhole(i) ? indices_.Set(i, indices_.Number(0)) : looped.push_back(i);
    }
    if (looped.empty()) return Tile();
    std::vector<StmtPtr> statements;
    const bool has_loop = plan_.threads == 1 && !flat_.is_reduction();
    const ExprPtr first = Work(0);
    kernel->local_size[0] = plan_.threads;
    kernel->global_size[0] =
        RoundUp(has_loop ? plan_.TaskCount(flat_, looped[0]) : Steps(looped[0]), plan_.threads);
    if (looped.size() > 1) {
      kernel->global_size[1] = Steps(looped[1]);
      statements.push_back(DeclareStep(looped[1], Work(1)));
    }
    ExprPtr rest = Work(2);
    for (size_t l = 2; l < looped.size(); ++l) {
      const int i = looped[l];
      kernel->global_size[2] *= Steps(i);
      const bool is_last = l + 1 == looped.size();
      const ExprPtr steps = StepsOf(i);
      statements.push_back(
          DeclareStep(i, is_last ? rest : loop::ApplyOp(ScalarOp::kMod, {rest, steps})));
      if (!is_last) rest = loop::ApplyOp(ScalarOp::kDiv, {rest, steps});
    }
    statements.push_back(has_loop ? Loop(looped[0], first) : InRange(looped[0], first));
    return loop::MakeBlock(std::move(statements));
  }

  static int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
  ExprPtr Work(int dimension) const {
    return loop::Work(loop::WorkId::kGlobal, dimension, indices_.index_type());
  }
  // Returns whether tiles along the index may have more rows than exist; they then repeat one row.
  bool RepeatsRows(int i) const { return !IsWhole(i) && plan::HasFreeRows(flat_, plan_, i); }
  // The distance between consecutive tiles.
  int64_t Advance(int i) const {
    return RepeatsRows(i) && plan_.unroll[i] > Range(i) ? 1 : plan_.unroll[i];
  }
  ExprPtr AdvanceOf(int i) const {
    return RepeatsRows(i) ? indices_.Size(absl::StrCat("advance ", i), Advance(i))
                          : indices_.Number(plan_.unroll[i]);
  }
  int64_t Steps(int i) const { return RoundUp(Range(i), Advance(i)) / Advance(i); }
  ExprPtr StepsOf(int i) const {
    return plan_.unroll[i] == 1 ? RangeOf(i) : indices_.Size(absl::StrCat("steps ", i), Steps(i));
  }

  // Declares the index at the beginning of a tile. The last tile overlaps the one before it, so
  // that it is complete.
  StmtPtr DeclareAt(int i, const ExprPtr& begin) {
    indices_.Set(i, Var(names_[i]));
    if (plan_.unroll[i] == 1) return Declare(names_[i], begin);
    const int64_t last = std::max<int64_t>(Range(i) - Advance(i), 0);
    return Declare(names_[i], loop::Min(begin, indices_.Size(absl::StrCat("last ", i), last)));
  }
  StmtPtr DeclareStep(int i, const ExprPtr& step) {
    return DeclareAt(i, loop::Mul(step, AdvanceOf(i)));
  }

  // The tile of a work-item, if it is within the range.
  StmtPtr InRange(int i, const ExprPtr& step) {
    std::vector<StmtPtr> statements = {DeclareStep(i, step), Tile()};
    return loop::MakeIf(loop::Less(step, StepsOf(i)), loop::MakeBlock(std::move(statements)));
  }

  // The loop over the tiles of a task.
  StmtPtr Loop(int i, const ExprPtr& number) {
    const ExprPtr task = indices_.Size(absl::StrCat("task ", i), plan_.task[i]);
    const std::string counter = absl::StrCat(names_[i], "step");
    const std::string name = absl::StrCat(names_[i], "task");
    const ExprPtr begin = Var(name);
    std::vector<StmtPtr> statements = {DeclareAt(i, Var(counter)), Tile()};
    return loop::MakeBlock(
        {Declare(name, loop::Mul(number, task)),
         loop::MakeFor(counter, begin, loop::Min(loop::Add(begin, task), RangeOf(i)),
                       loop::MakeBlock(std::move(statements)), plan_.unroll[i])});
  }

  StmtPtr Tile() {
    std::vector<StmtPtr> statements;
    if (reduction_) statements.push_back(loop::MakeBlock(reduction_->Emit()));
    statements.push_back(results_->Emit());
    return loop::MakeBlock(std::move(statements));
  }

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  SizeArguments sizes_;
  IndexEmitter indices_;
  const std::vector<std::string> names_;
  const std::set<int> chosen_;
  std::optional<Reduction> reduction_;
  std::optional<TileResults> results_;
};

}  // namespace

loop::Kernel LowerDynamicShapeKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                                     const std::string& name, const LowerOptions& options) {
  // 64-bit addresses serve all sizes on CPUs; 64-bit arithmetic is slow on GPUs.
  const bool is_wide = plan.threads == 1 || options.force_64bit_indices || NeedsWideIndices(flat);
  return DynamicShapeLowerer(flat, plan, is_wide ? DataType::kInt64 : DataType::kInt32).Lower(name);
}

}  // namespace tartan::lower
