// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/sized_kernel.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/tile_results.h"
#include "tile/lower/index_emitter.h"
#include "tile/plan/ready_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Names that say nothing of the program: one kernel serves many.
std::vector<std::string> IndexNames(const poly::FlatContraction& flat) {
  std::vector<std::string> names;
  for (size_t i = 0; i < flat.indices.size(); ++i) names.push_back(absl::StrCat("i", i));
  return names;
}

class SizedLowerer {
 public:
  SizedLowerer(const poly::FlatContraction& flat, const plan::CpuPlan& plan, DataType index_type)
      : flat_(flat),
        plan_(plan),
        sizes_(index_type),
        indices_(flat, index_type, &sizes_),
        names_(IndexNames(flat)),
        chosen_(ChosenBy(flat)) {
    if (flat.is_reduction()) reduction_.emplace(flat, plan, indices_, names_, nullptr);
    results_.emplace(flat, plan, indices_, reduction_ ? &*reduction_ : nullptr);
  }

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel;
    kernel.name = name;
    kernel.index_type = indices_.type();
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      kernel.parameters.push_back({absl::StrCat("out", o), flat_.outputs[o].shape.type, true});
    }
    for (size_t t = 0; t < flat_.tensors.size(); ++t) {
      kernel.parameters.push_back({absl::StrCat("in", t), flat_.tensors[t].shape.type, false});
    }
    kernel.body = plan_.threads > 1 ? OneElement(&kernel) : Loops(0, &kernel);
    kernel.sizes = sizes_.sizes();
    return kernel;
  }

 private:
  int64_t Range(int i) const { return flat_.indices[i].range; }
  ExprPtr RangeOf(int i) const { return indices_.Size(RangeRole(i), Range(i)); }
  loop::Type IndexType() const { return {indices_.type(), 1}; }
  // The tile has all of it, at every size of the program.
  bool IsWhole(int i) const {
    return (flat_.indices[i].is_lane || chosen_.count(i) > 0) && plan_.unroll[i] >= Range(i);
  }
  // The indices that choices depend on: how many there are is what the choices are.
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

  // GPUs: an element to a work-item. The innermost index is the first dimension of the launch, so
  // that neighbours in a group are neighbours in memory, and what two do not hold is the third.
  StmtPtr OneElement(loop::Kernel* kernel) {
    std::vector<StmtPtr> statements;
    std::vector<int> outer;
    ExprPtr inside;
    for (size_t level = plan_.order.size(); level-- > 0;) {
      const int i = plan_.order[level];
      if (IsWhole(i)) {
        indices_.Set(i, indices_.Number(0));
        continue;
      }
      if (dimensions_ == plan::kTaskLoops - 1) {
        outer.push_back(i);
        continue;
      }
      const int dimension = dimensions_++;
      const int64_t group = dimension == 0 ? plan_.threads : 1;
      kernel->local_size[dimension] = group;
      kernel->global_size[dimension] = (Range(i) + group - 1) / group * group;
      statements.push_back(loop::MakeDeclare(
          IndexType(), names_[i], loop::Work(loop::WorkId::kGlobal, dimension, indices_.type())));
      indices_.Set(i, loop::Var(names_[i], IndexType()));
      if (dimension == 0) inside = loop::Less(indices_.value(i), RangeOf(i));
    }
    int64_t items = 1;
    ExprPtr rest = loop::Work(loop::WorkId::kGlobal, plan::kTaskLoops - 1, indices_.type());
    for (size_t o = 0; o < outer.size(); ++o) {
      const int i = outer[o];
      items *= Range(i);
      const bool is_last = o + 1 == outer.size();
      statements.push_back(
          loop::MakeDeclare(IndexType(), names_[i],
                            is_last ? rest : loop::ApplyOp(ScalarOp::kMod, {rest, RangeOf(i)})));
      indices_.Set(i, loop::Var(names_[i], IndexType()));
      if (!is_last) rest = loop::ApplyOp(ScalarOp::kDiv, {rest, RangeOf(i)});
    }
    if (!outer.empty()) kernel->global_size[plan::kTaskLoops - 1] = items;
    statements.push_back(inside == nullptr ? Tile() : loop::MakeIf(inside, Tile()));
    return loop::MakeBlock(std::move(statements));
  }

  // The loops from a level on. The outermost ones walk the work-item's tasks.
  StmtPtr Loops(size_t level, loop::Kernel* kernel) {
    if (level == plan_.order.size()) return Tile();
    const int i = plan_.order[level];
    if (IsWhole(i)) {
      indices_.Set(i, indices_.Number(0));
      return Loops(level + 1, kernel);
    }
    if (dimensions_ == plan::kTaskLoops) {
      return Loop(level, indices_.Number(0), RangeOf(i), kernel);
    }
    const int dimension = dimensions_++;
    kernel->global_size[dimension] = plan_.TaskCount(flat_, i);
    const ExprPtr task = indices_.Size(absl::StrCat("task ", i), plan_.task[i]);
    const std::string name = absl::StrCat(names_[i], "task");
    const ExprPtr begin = loop::Var(name, IndexType());
    return loop::MakeBlock(
        {loop::MakeDeclare(
             IndexType(), name,
             loop::Mul(loop::Work(loop::WorkId::kGlobal, dimension, indices_.type()), task)),
         Loop(level, begin, loop::Min(loop::Add(begin, task), RangeOf(i)), kernel)});
  }

  // The last tile is drawn back so that it is whole.
  StmtPtr Loop(size_t level, const ExprPtr& begin, const ExprPtr& end, loop::Kernel* kernel) {
    const int i = plan_.order[level];
    const int64_t step = plan_.unroll[i];
    const ExprPtr at = loop::Var(names_[i], IndexType());
    indices_.Set(i, at);
    if (step == 1) return loop::MakeFor(names_[i], begin, end, Loops(level + 1, kernel));
    const std::string counter = absl::StrCat(names_[i], "step");
    const ExprPtr last = loop::Sub(RangeOf(i), indices_.Number(step));
    StmtPtr body =
        loop::MakeBlock({loop::MakeDeclare(IndexType(), names_[i],
                                           loop::Min(loop::Var(counter, IndexType()), last)),
                         Loops(level + 1, kernel)});
    return loop::MakeFor(counter, begin, end, std::move(body), step);
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
  int dimensions_ = 0;  // of the launch, taken by loops
};

}  // namespace

loop::Kernel LowerSizedKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                              const std::string& name, const LowerOptions& options) {
  // On CPUs positions in 64 bits serve all sizes; GPUs are slow at them.
  const bool is_wide = plan.threads == 1 || options.force_64bit_indices || NeedsWideIndices(flat);
  return SizedLowerer(flat, plan, is_wide ? DataType::kInt64 : DataType::kInt32).Lower(name);
}

}  // namespace tartan::lower
