// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/lower_kernel.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/task_block.h"
#include "tile/lower/cpu/tile_store.h"
#include "tile/lower/expr_emitter.h"
#include "tile/lower/gpu/group_kernel.h"
#include "tile/plan/cpu/sliding_window.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// An underscore keeps names from Tile apart from keywords, functions and parameters.
std::vector<std::string> UniqueNames(const poly::FlatContraction& flat) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const poly::Index& index : flat.indices) {
    std::string name = absl::StrCat(index.name, "_");
    for (int n = 1; !taken.insert(name).second; ++n) name = absl::StrCat(index.name, "_", n);
    names.push_back(std::move(name));
  }
  return names;
}

class KernelLowerer {
 public:
  KernelLowerer(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                DataType index_type)
      : flat_(flat),
        plan_(plan),
        indices_(flat, index_type),
        names_(UniqueNames(flat)),
        positions_(OutputPositions(flat, plan)),
        store_(flat, plan, indices_) {
    if (plan.block) block_.emplace(flat, plan, indices_, names_);
    if (flat.is_reduction()) {
      reduction_.emplace(flat, plan, indices_, names_, block_ ? &*block_ : nullptr);
    }
  }

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel;
    kernel.name = name;
    kernel.comments = flat_.comments;
    kernel.comments.push_back(plan_.ToString(flat_));
    kernel.index_type = indices_.type();
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      kernel.parameters.push_back({absl::StrCat("out", o), flat_.outputs[o].shape.type, true});
    }
    for (size_t t = 0; t < flat_.tensors.size(); ++t) {
      kernel.parameters.push_back({absl::StrCat("in", t), flat_.tensors[t].shape.type, false});
    }
    const int64_t items = plan_.ItemCount(flat_);
    kernel.local_size[0] = plan_.threads;
    kernel.global_size[0] = (items + plan_.threads - 1) / plan_.threads * plan_.threads;
    kernel.body = Body(items);
    return kernel;
  }

  StmtPtr LowerTask(const std::vector<ExprPtr>& begins) {
    begin_ = begins;
    return OutputLoops(0);
  }

  VectorLoop LowerVectorLoop(const std::vector<ExprPtr>& begins, const ExprPtr& position) {
    for (int i = 0; i < flat_.output_index_count; ++i) indices_.Set(i, begins[i]);
    const int v = plan_.vector_index;
    indices_.Set(v, position);
    VectorLoop loop;
    if (reduction_) {
      loop.before = reduction_->DeclareAccumulators();
      loop.run_steps = reduction_->run_steps();
      if (loop.run_steps > 0) loop.before_run = reduction_->BeginRun();
      loop.body = reduction_->AggregateTile();
      if (loop.run_steps > 0) loop.after_run = reduction_->EndRun();
      loop.after = {reduction_->AggregateTail(), Results()};
      return loop;
    }
    loop.body = Results();
    const int64_t range = flat_.indices[v].range;
    if (range % plan_.unroll[v] != 0) {
      indices_.Set(v, Number(range - plan_.unroll[v]));
      loop.after.push_back(Results());
    }
    return loop;
  }

 private:
  ExprPtr Number(int64_t value) const { return indices_.Number(value); }
  loop::Type IndexType() const { return {indices_.type(), 1}; }

  StmtPtr Body(int64_t items) {
    const ExprPtr item = loop::Var("item", IndexType());
    std::vector<StmtPtr> statements = {loop::MakeDeclare(
        IndexType(), "item", loop::Work(loop::WorkId::kGlobal, 0, indices_.type()))};
    std::vector<StmtPtr> work = DecodeItem(item, items);
    if (block_) {
      for (StmtPtr& array : block_->Arrays()) work.push_back(std::move(array));
    }
    work.push_back(OutputLoops(0));
    StmtPtr block = loop::MakeBlock(std::move(work));
    if (items % plan_.threads != 0) {
      block = loop::MakeIf(loop::Less(item, Number(items)), std::move(block));
    }
    statements.push_back(std::move(block));
    return loop::MakeBlock(std::move(statements));
  }

  // Declares where the work-item's task begins in each output index; the last loop's index varies
  // fastest.
  std::vector<StmtPtr> DecodeItem(const ExprPtr& item, int64_t items) {
    std::vector<StmtPtr> statements;
    begin_.assign(flat_.output_index_count, Number(0));
    int64_t below = 1;
    for (size_t at = plan_.order.size(); at-- > 0;) {
      const int i = plan_.order[at];
      const int64_t tasks = plan_.TaskCount(flat_, i);
      if (tasks <= 1) continue;
      ExprPtr position = loop::Div(item, Number(below));
      if (below * tasks < items) position = loop::Mod(position, Number(tasks));
      const std::string name = plan_.task[i] == 1 ? names_[i] : absl::StrCat(names_[i], "task");
      statements.push_back(
          loop::MakeDeclare(IndexType(), name, loop::Mul(position, Number(plan_.task[i]))));
      begin_[i] = loop::Var(name, IndexType());
      below *= tasks;
    }
    return statements;
  }

  // One past the last value of output index i in this work-item's task.
  ExprPtr End(int i) const {
    const int64_t range = flat_.indices[i].range;
    if (plan_.task[i] >= range) return Number(range);
    const ExprPtr end = loop::Add(begin_[i], Number(plan_.task[i]));
    if (range % plan_.task[i] == 0) return end;
    return loop::Select(loop::Less(end, Number(range)), end, Number(range));
  }

  // The loops of a work-item from `level` on, with what the plan's block puts around its own.
  StmtPtr OutputLoops(size_t level) {
    if (!block_ || level != static_cast<size_t>(plan_.block->level)) return LoopsFrom(level);
    std::vector<TaskBlock::Task> tasks;
    for (int i = 0; i < flat_.output_index_count; ++i) tasks.push_back({begin_[i], End(i)});
    return block_->Emit(tasks, [&] { return LoopsFrom(level); });
  }

  // The last tile of an index is drawn back so that it is whole.
  StmtPtr LoopsFrom(size_t level) {
    if (level == plan_.order.size()) return Tile();
    const int i = plan_.order[level];
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    if (plan_.task[i] <= step) {
      if (block_) block_->SetOffset(i, Number(0));
      return WithTileAt(i, begin_[i], names_[i] + "at", level);
    }
    const bool is_whole = plan_.task[i] >= range && loop::LiteralValue(begin_[i]) == 0;
    if (const auto inner = plan::InnerTiles(flat_, plan_, i); inner && is_whole) {
      return DividedLoop(level, *inner);
    }
    const std::string counter = range % step == 0 ? names_[i] : absl::StrCat(names_[i], "step");
    if (block_) block_->SetOffset(i, loop::Sub(loop::Var(counter, IndexType()), begin_[i]));
    if (range % step == 0) {
      indices_.Set(i, loop::Var(names_[i], IndexType()));
      return loop::MakeFor(names_[i], begin_[i], End(i), OutputLoops(level + 1), step);
    }
    return loop::MakeFor(counter, begin_[i], End(i),
                         WithTileAt(i, loop::Var(counter, IndexType()), names_[i], level), step);
  }

  // The tiles at whose edges a window leaves the data stand by themselves, at places that are
  // numbers: there it is known which points count. The others need no check.
  StmtPtr DividedLoop(size_t level, const plan::TileRange& inner) {
    const int i = plan_.order[level];
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    std::vector<StmtPtr> parts;
    const auto edge = [&](int64_t at) {
      if (block_) block_->SetOffset(i, Number(at));
      indices_.Set(i, Number(std::min(at, range - step)));
      parts.push_back(
          loop::MakeFor(names_[i], Number(at), Number(at + step), OutputLoops(level + 1), step));
    };
    for (int64_t tile = 0; tile < inner.begin; ++tile) edge(tile * step);
    if (inner.begin < inner.end) {
      const ExprPtr at = loop::Var(names_[i], IndexType());
      if (block_) block_->SetOffset(i, at);
      indices_.Set(i, at);
      const size_t before = assumed_.size();
      for (math::RangeConstraint& constraint : plan::WindowConstraints(flat_, plan_, i)) {
        assumed_.push_back(std::move(constraint));
      }
      reduction_->Assume(assumed_);
      parts.push_back(loop::MakeFor(names_[i], Number(inner.begin * step), Number(inner.end * step),
                                    OutputLoops(level + 1), step));
      assumed_.resize(before);
      reduction_->Assume(assumed_);
    }
    for (int64_t at = inner.end * step; at < range; at += step) edge(at);
    return loop::MakeBlock(std::move(parts));
  }

  StmtPtr WithTileAt(int i, const ExprPtr& begin, const std::string& name, size_t level) {
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    if (range % step == 0) {
      indices_.Set(i, begin);
      return OutputLoops(level + 1);
    }
    const ExprPtr last = Number(range - step);
    indices_.Set(i, loop::Var(name, IndexType()));
    return loop::MakeBlock(
        {loop::MakeDeclare(IndexType(), name, loop::Select(loop::Less(begin, last), begin, last)),
         OutputLoops(level + 1)});
  }

  // Everything for one register tile. Where conditions on the outputs differ between lanes, the
  // tiles in which all of them hold are computed in vectors, the others lane by lane.
  StmtPtr Tile() {
    std::vector<StmtPtr> statements;
    if (block_) statements = block_->Places();
    if (reduction_) statements.push_back(loop::MakeBlock(reduction_->Emit()));
    StmtPtr results = Results();
    if (block_ && block_->has_runs()) {
      results = loop::MakeIf(block_->IsLastRun(), std::move(results),
                             loop::MakeBlock(reduction_->Suspend()));
    }
    statements.push_back(std::move(results));
    return loop::MakeBlock(std::move(statements));
  }

  StmtPtr Results() {
    const std::vector<math::RangeConstraint> varying = ConstraintsThatVaryByLane();
    if (varying.empty()) return StoreTile(flat_.store_guard, false);
    std::vector<math::RangeConstraint> assumed = flat_.store_guard;
    for (const math::RangeConstraint& constraint : varying) {
      if (std::find(assumed.begin(), assumed.end(), constraint) == assumed.end()) {
        assumed.push_back(constraint);
      }
    }
    return loop::MakeIf(HoldsAllOver(assumed), StoreTile(assumed, true), StoreLanes());
  }

  // The vectors that outputs are computed in.
  VectorShape VectorOutput() const {
    const bool is_output = plan_.vector_index >= 0 && plan_.vector_index < flat_.output_index_count;
    return is_output ? VectorShape{plan_.vector_index, plan_.lanes} : VectorShape{};
  }

  std::vector<math::RangeConstraint> ConstraintsThatVaryByLane() const {
    std::vector<math::RangeConstraint> varying;
    const VectorShape vector = VectorOutput();
    if (vector.lanes == 1) return varying;
    const auto add = [&](const std::vector<math::RangeConstraint>& constraints) {
      for (const math::RangeConstraint& constraint : constraints) {
        if (constraint.poly.coefficient(vector.index).is_zero()) continue;
        if (std::find(varying.begin(), varying.end(), constraint) == varying.end()) {
          varying.push_back(constraint);
        }
      }
    };
    add(flat_.store_guard);
    poly::FlatContraction epilogue = flat_;
    epilogue.body = nullptr;
    poly::VisitExprs(epilogue, [&](const poly::Expr& expr) {
      if (const auto* read = std::get_if<poly::Read>(&expr.node)) {
        add(flat_.accesses[read->access].guard);
      } else if (const auto* in_range = std::get_if<poly::InRange>(&expr.node)) {
        if (!plan_.masks_lanes) add(in_range->constraints);
      } else if (const auto* read_at = std::get_if<poly::ReadAt>(&expr.node)) {
        add(read_at->guard);
      }
    });
    return varying;
  }

  // They hold at every element of the tile.
  ExprPtr HoldsAllOver(const std::vector<math::RangeConstraint>& constraints) const {
    ExprPtr all = loop::Bool(true);
    const Position last = LastPosition();
    for (const math::RangeConstraint& constraint : constraints) {
      int64_t below = 0;  // how far the polynomial goes down and up within the tile
      int64_t above = 0;
      for (size_t i = 0; i < last.size(); ++i) {
        const int64_t reach =
            constraint.poly.coefficient(static_cast<int>(i)).numerator() * last[i];
        (reach < 0 ? below : above) += reach;
      }
      for (int64_t shift : {below, above}) {
        const ExprPtr inside = indices_.Condition(constraint, shift);
        if (inside != nullptr) all = loop::And(all, inside);
        if (below == above) break;
      }
    }
    return all;
  }

  Position LastPosition() const {
    Position last = positions_.back();
    const VectorShape vector = VectorOutput();
    if (vector.lanes > 1) last[vector.index] += vector.lanes - 1;
    return last;
  }

  StmtPtr StoreTile(const std::vector<math::RangeConstraint>& assumed, bool is_inside) {
    if (!is_inside && !flat_.store_guard.empty()) {
      std::vector<StmtPtr> statements;
      for (size_t p = 0; p < positions_.size(); ++p) statements.push_back(StoreGuarded(p));
      return loop::MakeBlock(std::move(statements));
    }
    std::vector<StmtPtr> statements;
    ExprEmitter emitter(flat_, indices_, VectorOutput(), positions_, "e", &statements);
    emitter.Assume(assumed);
    emitter.AssumeWholeTile(plan_.unroll);
    if (plan_.masks_lanes) emitter.MaskLanes();
    CountRoots(&emitter);
    store_.BeginTile();
    for (size_t p = 0; p < positions_.size(); ++p) {
      ExprPtr total = reduction_ ? reduction_->Total(static_cast<int>(p), &statements) : nullptr;
      StorePosition(p, VectorOutput().lanes, std::move(total), &emitter, &statements);
    }
    store_.EndTile();
    return loop::MakeBlock(std::move(statements));
  }

  // One position of the tile, where the guard lets it be stored; outside nothing is read either.
  StmtPtr StoreGuarded(size_t p) {
    std::vector<StmtPtr> statements;
    ExprEmitter emitter(flat_, indices_, VectorOutput(), {positions_[p]}, absl::StrCat("e", p, "_"),
                        &statements);
    emitter.Assume(flat_.store_guard);
    CountRoots(&emitter);
    ExprPtr total = reduction_ ? reduction_->Total(static_cast<int>(p), &statements) : nullptr;
    StorePosition(p, VectorOutput().lanes, std::move(total), &emitter, &statements);
    return Guarded(GuardAt(positions_[p]), std::move(statements));
  }

  // Lane by lane, each stored where it may be.
  StmtPtr StoreLanes() {
    const VectorShape vector = VectorOutput();
    std::vector<StmtPtr> statements;
    for (size_t p = 0; p < positions_.size(); ++p) {
      const std::string held = absl::StrCat("held", p);
      const ExprPtr lane = loop::Var("lane", IndexType());
      ExprPtr total;
      if (reduction_) {
        statements.push_back(loop::MakeArray({flat_.accumulator_type, 1}, held, vector.lanes));
        statements.push_back(loop::MakeStore(held, flat_.accumulator_type, Number(0),
                                             reduction_->Total(static_cast<int>(p), &statements)));
        total = loop::LoadFrom(held, flat_.accumulator_type, lane);
      }
      const ExprPtr begin = indices_.value(vector.index);
      indices_.Set(vector.index, loop::Add(begin, lane));
      std::vector<StmtPtr> body;
      ExprEmitter emitter(flat_, indices_, {}, {positions_[p]}, "e", &body);
      emitter.Assume(flat_.store_guard);
      CountRoots(&emitter);
      StorePosition(p, 1, std::move(total), &emitter, &body);
      StmtPtr guarded = Guarded(GuardAt(positions_[p]), std::move(body));
      indices_.Set(vector.index, begin);
      statements.push_back(
          loop::MakeFor("lane", Number(0), Number(vector.lanes), std::move(guarded)));
    }
    return loop::MakeBlock(std::move(statements));
  }

  // Computes the outputs at a position and stores them.
  void StorePosition(size_t p, int lanes, ExprPtr total, ExprEmitter* emitter,
                     std::vector<StmtPtr>* statements) {
    emitter->MoveTo(positions_[p]);
    if (total != nullptr) total = Result(std::move(total), p, emitter, statements);
    emitter->MoveTo(positions_[p], total);
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      const ExprPtr value = emitter->Emit(flat_.outputs[o].expr);
      for (StmtPtr& store : store_.Emit(o, positions_[p], lanes, value, statements)) {
        stores.push_back(std::move(store));
      }
    }
    statements->insert(statements->end(), stores.begin(), stores.end());
  }

  ExprPtr GuardAt(const Position& position) const {
    ExprPtr all;
    for (const math::RangeConstraint& guard : flat_.store_guard) {
      ExprPtr inside = indices_.Condition(guard, ShiftAt(guard.poly, position));
      if (inside != nullptr) all = all == nullptr ? inside : loop::And(all, inside);
    }
    return all;
  }

  static StmtPtr Guarded(const ExprPtr& condition, std::vector<StmtPtr> statements) {
    StmtPtr block = loop::MakeBlock(std::move(statements));
    return condition == nullptr ? block : loop::MakeIf(condition, std::move(block));
  }

  void CountRoots(ExprEmitter* emitter) const {
    for (const poly::Output& output : flat_.outputs) emitter->Count(output.expr);
    if (flat_.empty_value != nullptr) emitter->Count(flat_.empty_value);
  }

  // The aggregated value, with that of elements without a valid point put in.
  ExprPtr Result(ExprPtr value, size_t position, ExprEmitter* emitter,
                 std::vector<StmtPtr>* statements) const {
    if (flat_.needs_hits()) {
      ExprPtr empty = flat_.empty_value != nullptr
                          ? emitter->Emit(flat_.empty_value)
                          : Identity(Aggregation::kSum, flat_.accumulator_type);
      value = loop::Select(reduction_->Hit(), value, loop::Splat(empty, value->type.lanes));
    }
    if (std::holds_alternative<loop::Variable>(value->node)) return value;
    const std::string name =
        absl::StrCat("result", positions_.size() > 1 ? absl::StrCat(position) : "");
    const loop::Type type = value->type;
    statements->push_back(loop::MakeDeclare(type, name, std::move(value)));
    return loop::Var(name, type);
  }

  const poly::FlatContraction& flat_;
  const plan::KernelPlan& plan_;
  IndexEmitter indices_;
  const std::vector<std::string> names_;
  const std::vector<Position> positions_;
  TileStore store_;
  std::optional<TaskBlock> block_;
  std::optional<Reduction> reduction_;
  std::vector<ExprPtr> begin_;  // of the work-item's task, per output index
  // Constraints that hold in the tiles that are being emitted.
  std::vector<math::RangeConstraint> assumed_;
};

}  // namespace

bool NeedsWideIndices(const poly::FlatContraction& flat) {
  const int64_t limit = int64_t{1} << 31;
  bool wide = TensorShape{DataType::kBool, flat.output_dims}.element_count() >= limit ||
              flat.output_point_count() >= limit;
  for (const poly::Tensor& tensor : flat.tensors) {
    wide |= tensor.shape.element_count() >= limit;
  }
  return wide;
}

loop::Kernel LowerKernel(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                         const std::string& name, const LowerOptions& options) {
  if (plan.group) return LowerGroupKernel(flat, *plan.group, name, options);
  // Where a loop is over a part of an index alone, or much is loaded between two steps of it, LLVM
  // extends every 32-bit position to 64 bits within the loop.
  const bool extends = plan.block || plan::HasWindow(flat, plan);
  const bool is_wide = options.force_64bit_indices || extends || NeedsWideIndices(flat);
  return KernelLowerer(flat, plan, is_wide ? DataType::kInt64 : DataType::kInt32).Lower(name);
}

VectorLoop LowerVectorLoop(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                           const std::vector<ExprPtr>& begins, const ExprPtr& position) {
  return KernelLowerer(flat, plan, position->type.element).LowerVectorLoop(begins, position);
}

loop::StmtPtr LowerTask(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                        const std::vector<ExprPtr>& begins, DataType index_type) {
  return KernelLowerer(flat, plan, index_type).LowerTask(begins);
}

}  // namespace tartan::lower
