// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/group_reduction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr char kAccumulators[] = "total";

}  // namespace

GroupReduction::GroupReduction(GroupContext& context, const std::vector<GroupStage>& stages,
                               std::vector<int> fetched)
    : context_(context),
      stages_(stages),
      unrolling_(context.plan().Unroll(context.flat())),
      fetched_(std::move(fetched)) {
  const int lane_index = context.plan().lane_index;
  const int accumulator_index = context.flat().accumulator_index;
  if (accumulator_index >= 0) outputs_.push_back(accumulator_index);
  for (int i = 0; i < context.output_count(); ++i) {
    if (i != lane_index && i != accumulator_index) outputs_.push_back(i);
  }
  if (lane_index >= 0 && context.is_output(lane_index)) outputs_.push_back(lane_index);
  const std::vector<bool> filled =
      plan::FilledConstraints(plan::GroupProblem(context.flat()), context.plan());
  const std::vector<math::RangeConstraint> all =
      plan::TileConstraints(context.flat(), context.plan().Tile());
  for (size_t c = 0; c < all.size(); ++c) {
    if (!filled[c]) unfilled_.push_back(all[c]);
  }
}

loop::Type GroupReduction::AccumulatorType() const {
  return {context_.flat().accumulator_type, context_.lanes_are_output() ? context_.lanes() : 1};
}

int64_t GroupReduction::AccumulatorCount() const {
  int64_t count = 1;
  for (int i : outputs_) count *= context_.OwnCount(i);
  return count;
}

ExprPtr GroupReduction::Slot(const std::vector<int>& indices) const {
  ExprPtr slot = context_.Number(0);
  for (int i : indices) {
    if (context_.OwnCount(i) == 1) continue;
    slot = loop::Add(loop::Mul(slot, context_.Number(context_.OwnCount(i))), context_.own(i));
  }
  return slot;
}

StmtPtr GroupReduction::SetAccumulator(const ExprPtr& slot, ExprPtr value) const {
  if (AccumulatorCount() == 1) return loop::MakeAssign(kAccumulators, std::move(value));
  return loop::MakeStore(kAccumulators, AccumulatorType().element, slot, std::move(value));
}

ExprPtr GroupReduction::GetAccumulator(const ExprPtr& slot) const {
  const loop::Type type = AccumulatorType();
  if (AccumulatorCount() == 1) return loop::Var(kAccumulators, type);
  return loop::LoadFrom(kAccumulators, type.element, slot, type.lanes);
}

std::vector<ExprPtr> GroupReduction::Accumulated() const {
  const int accumulator_index = context_.flat().accumulator_index;
  if (accumulator_index < 0) return {GetAccumulator(Slot(outputs_))};
  std::vector<ExprPtr> sums;
  for (int64_t n = 0; n < context_.flat().accumulators_per_element(); ++n) {
    context_.SetOwn(accumulator_index, context_.Number(n));
    sums.push_back(GetAccumulator(Slot(outputs_)));
  }
  context_.SetOwn(accumulator_index, context_.Number(0));
  return sums;
}

std::vector<StmtPtr> GroupReduction::DeclareAccumulators() const {
  const loop::Type type = AccumulatorType();
  const ExprPtr identity =
      loop::Splat(Identity(context_.flat().aggregation, type.element), type.lanes);
  if (AccumulatorCount() == 1) return {loop::MakeDeclare(type, kAccumulators, identity, true)};
  return {loop::MakeArray(type, kAccumulators, AccumulatorCount()),
          loop::MakeFor("slot", context_.Number(0), context_.Number(AccumulatorCount()),
                        SetAccumulator(context_.Var("slot"), identity), 1, true)};
}

StmtPtr GroupReduction::Rescale(const std::string& array, int row) const {
  const loop::Type type = AccumulatorType();
  return context_.ForOwn(outputs_, [&] {
    const ExprPtr at =
        row < 0 ? context_.Number(0) : context_.Indices().Emit(math::Affine::Variable(row));
    const ExprPtr factor = loop::Splat(loop::LoadFrom(array, type.element, at), type.lanes);
    const ExprPtr slot = Slot(outputs_);
    return SetAccumulator(slot, loop::ApplyOp(ScalarOp::kMul, {GetAccumulator(slot), factor}));
  });
}

StmtPtr GroupReduction::Step() const {
  if (unfilled_.empty()) return Loops(0, false);
  return loop::MakeIf(StepIsInside(), Loops(0, false), Loops(0, true));
}

// Tests that no point of the step is out of range or violates a constraint in `unfilled_`.
ExprPtr GroupReduction::StepIsInside() const {
  IndexEmitter bases(context_.padded(), context_.index_type());
  for (int i = 0; i < context_.index_count(); ++i) bases.Set(i, context_.Base(i));
  Position last;
  for (int i = 0; i < context_.index_count(); ++i) last.push_back(context_.split(i).tile() - 1);
  std::vector<math::RangeConstraint> constraints = unfilled_;
  for (const math::RangeConstraint& range : context_.OutputRanges()) constraints.push_back(range);
  return bases.HoldsAcross(constraints, last);
}

// Emits the loops over blocks of the reduced indices.
StmtPtr GroupReduction::Loops(size_t level, bool checked) const {
  if (level == unrolling_.loops.size()) return Inner(checked);
  const int i = unrolling_.loops[level];
  const int64_t vector = context_.split(i).vector;
  const std::string name = absl::StrCat(context_.name(i), "_block");
  const bool is_partial =
      unrolling_.iterations > 1 && static_cast<int>(level) == unrolling_.from - 1;
  const std::string iteration = absl::StrCat(context_.name(i), "_turn");
  ExprPtr block = context_.Var(name);
  if (is_partial) block = loop::Add(block, context_.Var(iteration));
  const bool steps_in_blocks = i == context_.plan().lane_index;
  context_.SetOwn(i, steps_in_blocks ? block : loop::Mul(block, context_.Number(vector)));
  StmtPtr body = Loops(level + 1, checked);
  context_.SetOwn(i, context_.Number(0));
  if (is_partial) {
    body = loop::MakeFor(iteration, context_.Number(0), context_.Number(unrolling_.iterations),
                         std::move(body), 1, true);
  }
  return loop::MakeFor(name, context_.Number(0), context_.Number(context_.split(i).blocks),
                       std::move(body), is_partial ? unrolling_.iterations : 1,
                       static_cast<int>(level) >= unrolling_.from);
}

// Emits the loop body. A tile read in vectors along a reduced index supplies several of its values.
StmtPtr GroupReduction::Inner(bool checked) const {
  std::vector<StmtPtr> statements;
  int vectored = -1;
  for (int i = context_.output_count(); i < context_.index_count(); ++i) {
    if (context_.split(i).vector > 1 && i != context_.plan().lane_index) vectored = i;
  }
  for (size_t s = 0; s < stages_.size(); ++s) {
    if (!HoldsAlongReduced(s)) continue;
    for (StmtPtr& statement : Hold(s)) statements.push_back(std::move(statement));
  }
  if (vectored < 0) {
    statements.push_back(InnerLanes(checked));
    return loop::MakeBlock(std::move(statements));
  }
  const std::string name = absl::StrCat(context_.name(vectored), "_lane");
  const ExprPtr begin = context_.own(vectored);
  context_.SetOwn(vectored, loop::Add(begin, context_.Var(name)));
  StmtPtr body = InnerLanes(checked);
  context_.SetOwn(vectored, begin);
  statements.push_back(loop::MakeFor(name, context_.Number(0),
                                     context_.Number(context_.split(vectored).vector),
                                     std::move(body), 1, true));
  return loop::MakeBlock(std::move(statements));
}

StmtPtr GroupReduction::InnerLanes(bool checked) const {
  std::vector<StmtPtr> statements;
  for (size_t s = 0; s < stages_.size(); ++s) {
    if (HoldsAlongReduced(s)) continue;
    for (StmtPtr& statement : Hold(s)) statements.push_back(std::move(statement));
  }
  statements.push_back(context_.ForOwn(outputs_, [&] { return Accumulate(checked); }));
  return loop::MakeBlock(std::move(statements));
}

ExprEmitter GroupReduction::Emitter(bool checked, const IndexEmitter& indices,
                                    const std::string& prefix,
                                    std::vector<StmtPtr>* statements) const {
  const VectorShape vector = {context_.lanes() > 1 ? context_.plan().lane_index : -1,
                              context_.lanes()};
  const Position here(context_.index_count(), 0);
  ExprEmitter emitter(context_.padded(), indices, vector, {here}, prefix, statements);
  emitter.AssumeAlignedLanes();
  if (context_.loads_first()) emitter.LoadUnconditionally(checked);
  for (size_t s = 0; s < stages_.size(); ++s) emitter.Provide(stages_[s].access(), Held(s));
  std::vector<math::RangeConstraint> checks;
  if (checked || unfilled_.empty()) checks = context_.OutputRanges();
  if (checked) checks.insert(checks.end(), unfilled_.begin(), unfilled_.end());
  emitter.CheckReads(checks);
  emitter.MoveTo(here);
  return emitter;
}

StmtPtr GroupReduction::Accumulate(bool checked) const {
  std::vector<StmtPtr> statements;
  const IndexEmitter indices = context_.Indices();
  ExprEmitter emitter = Emitter(checked, indices, "t", &statements);
  for (int access : fetched_) emitter.Provide(access, Fetched(access));
  emitter.Count(context_.flat().body);
  ExprPtr value = emitter.Emit(context_.flat().body);
  if (checked) {
    if (const ExprPtr valid = emitter.EmitConditions(unfilled_); valid != nullptr) {
      const int lanes = std::max(value->type.lanes, valid->type.lanes);
      const ExprPtr identity =
          Identity(context_.flat().aggregation, context_.flat().accumulator_type);
      value = loop::Select(valid, loop::Splat(value, lanes), loop::Splat(identity, lanes));
    }
  }
  statements.push_back(Update(value));
  return loop::MakeBlock(std::move(statements));
}

StmtPtr GroupReduction::Update(const ExprPtr& value) const {
  const ExprPtr slot = Slot(outputs_);
  const ExprPtr old = GetAccumulator(slot);
  const bool lanes_are_reduced = context_.lanes() > 1 && !context_.lanes_are_output();
  if (!lanes_are_reduced) return SetAccumulator(slot, Aggregate(old, value));
  // A value that does not depend on the reduced index counts once per lane.
  const ExprPtr lanes = loop::Splat(value, context_.lanes());
  std::vector<StmtPtr> statements = {loop::MakeDeclare(lanes->type, "lanes", lanes)};
  for (int lane = 0; lane < context_.lanes(); ++lane) {
    const ExprPtr element = loop::LaneOf(loop::Var("lanes", lanes->type), lane);
    statements.push_back(SetAccumulator(slot, Aggregate(old, element)));
  }
  return loop::MakeBlock(std::move(statements));
}

ExprPtr GroupReduction::Aggregate(const ExprPtr& old, const ExprPtr& value) const {
  const poly::FlatContraction& flat = context_.flat();
  const auto* apply = std::get_if<loop::Apply>(&value->node);
  if (flat.aggregation == Aggregation::kSum && IsFloat(flat.accumulator_type) && apply != nullptr &&
      apply->op == ScalarOp::kMul) {
    return loop::MulAdd(apply->operands[0], apply->operands[1], old);
  }
  return loop::ApplyOp(poly::AggregationOp(flat.aggregation), {old, value});
}

bool GroupReduction::HoldsAlongReduced(size_t stage) const {
  const int index = stages_[stage].plan().vector_index;
  return index >= context_.output_count();
}

std::vector<int> GroupReduction::HeldIndices(size_t stage) const {
  std::vector<int> indices;
  for (int i : outputs_) {
    const bool differs = stages_[stage].plan().layout.LocalStride(i) != 0;
    if (differs && (context_.OwnCount(i) > 1 || i == context_.plan().lane_index)) {
      indices.push_back(i);
    }
  }
  // The index along which vectors are read varies fastest.
  const int vector_index = stages_[stage].plan().vector_index;
  std::stable_partition(indices.begin(), indices.end(), [=](int i) { return i != vector_index; });
  return indices;
}

// The lanes per element of a stage's private array.
int GroupReduction::HeldLanes(size_t stage) const {
  const plan::StagedAccess& plan = stages_[stage].plan();
  const bool along_lanes = context_.lanes_are_output() && plan.vector_index >= 0 &&
                           plan.vector_index == context_.plan().lane_index;
  return along_lanes ? context_.lanes() : 1;
}

std::vector<StmtPtr> GroupReduction::Hold(size_t s) const {
  const GroupStage& stage = stages_[s];
  const std::vector<int> indices = HeldIndices(s);
  const int vector_index = stage.plan().vector_index;
  const int64_t reduced_lanes = HoldsAlongReduced(s) ? context_.split(vector_index).vector : 1;
  const loop::Type type = {stage.type(), HeldLanes(s)};
  const std::string name = absl::StrCat("in", stage.access(), "_held");
  const bool gathers_lanes = HeldLanes(s) == 1 && context_.lanes_are_output() && !indices.empty() &&
                             indices.back() == context_.plan().lane_index;
  int64_t count = reduced_lanes;
  for (int i : indices) count *= context_.OwnCount(i);
  if (gathers_lanes) count *= context_.lanes();
  if (count == 1) return {loop::MakeDeclare(type, name, stage.Read(type.lanes))};
  std::vector<StmtPtr> statements = {loop::MakeArray(type, name, count)};
  auto slot = [&] { return loop::Mul(Slot(indices), context_.Number(reduced_lanes)); };
  if (HoldsAlongReduced(s) || HeldLanes(s) > 1) {
    const int lanes = HeldLanes(s) > 1 ? HeldLanes(s) : static_cast<int>(reduced_lanes);
    statements.push_back(context_.ForOwn(
        indices, [&] { return loop::MakeStore(name, stage.type(), slot(), stage.Read(lanes)); }));
  } else if (vector_index >= 0) {
    for (StmtPtr& statement : HoldVectors(s, indices)) statements.push_back(std::move(statement));
  } else if (gathers_lanes) {
    for (StmtPtr& statement : GatherLanes(s, indices)) statements.push_back(std::move(statement));
  } else {
    statements.push_back(context_.ForOwn(
        indices, [&] { return loop::MakeStore(name, stage.type(), slot(), stage.Read(1)); }));
  }
  return statements;
}

std::vector<StmtPtr> GroupReduction::HoldVectors(size_t s, std::vector<int> indices) const {
  const GroupStage& stage = stages_[s];
  const std::string name = absl::StrCat("in", stage.access(), "_held");
  const std::vector<int> all = indices;
  const int along = indices.back();
  indices.pop_back();
  const int64_t vector = context_.split(along).vector;
  const std::string block = absl::StrCat(context_.name(along), "_vector");
  return {context_.ForOwn(indices, [&] {
    context_.SetOwn(along, loop::Mul(context_.Var(block), context_.Number(vector)));
    StmtPtr store =
        loop::MakeStore(name, stage.type(), Slot(all), stage.Read(static_cast<int>(vector)));
    context_.SetOwn(along, context_.Number(0));
    return loop::MakeFor(block, context_.Number(0), context_.Number(context_.split(along).blocks),
                         std::move(store), 1, true);
  })};
}

std::vector<StmtPtr> GroupReduction::GatherLanes(size_t s, const std::vector<int>& indices) const {
  const GroupStage& stage = stages_[s];
  const std::string name = absl::StrCat("in", stage.access(), "_held");
  const ExprPtr lane = context_.Var("lane");
  const int64_t stride = stage.plan().layout.LocalStride(context_.plan().lane_index);
  return {context_.ForOwn(indices, [&] {
    const ExprPtr slot =
        loop::Add(loop::Mul(Slot(indices), context_.Number(context_.lanes())), lane);
    const ExprPtr distance = loop::Mul(lane, context_.Number(stride));
    return loop::MakeFor("lane", context_.Number(0), context_.Number(context_.lanes()),
                         loop::MakeStore(name, stage.type(), slot, stage.ReadAt(distance)), 1,
                         true);
  })};
}

ExprPtr GroupReduction::Held(size_t s) const {
  const GroupStage& stage = stages_[s];
  const std::vector<int> indices = HeldIndices(s);
  const std::string name = absl::StrCat("in", stage.access(), "_held");
  const bool has_lanes = context_.lanes_are_output() && !indices.empty() &&
                         indices.back() == context_.plan().lane_index;
  int64_t count = 1;
  for (int i : indices) count *= context_.OwnCount(i);
  const int lanes = has_lanes ? context_.lanes() : 1;
  if (HoldsAlongReduced(s)) {
    const int index = stage.plan().vector_index;
    const int64_t vector = context_.split(index).vector;
    const ExprPtr lane = context_.Var(absl::StrCat(context_.name(index), "_lane"));
    return loop::LoadFrom(name, stage.type(),
                          loop::Add(loop::Mul(Slot(indices), context_.Number(vector)), lane));
  }
  if (HeldLanes(s) > 1 || lanes == 1) {
    if (count == 1) return loop::Var(name, {stage.type(), lanes});
    return loop::LoadFrom(name, stage.type(), Slot(indices), lanes);
  }
  return loop::LoadFrom(name, stage.type(), loop::Mul(Slot(indices), context_.Number(lanes)),
                        lanes);
}

}  // namespace tartan::lower
