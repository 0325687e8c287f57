#include "tile/lower/reduction.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

}  // namespace

ScalarOp AggregationOp(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kProduct:
      return ScalarOp::kMul;
    case Aggregation::kMax:
      return ScalarOp::kMax;
    case Aggregation::kMin:
      return ScalarOp::kMin;
    default:
      return ScalarOp::kAdd;
  }
}

ExprPtr Identity(Aggregation aggregation, DataType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto number = [type](int64_t value) {
    if (type == DataType::kBool) return sem::Bool(value != 0);
    if (IsFloat(type)) return sem::Float(static_cast<double>(value), type);
    return sem::Int(value, type);
  };
  switch (aggregation) {
    case Aggregation::kProduct:
      return number(1);
    case Aggregation::kMax:
      return IsFloat(type) ? sem::Float(-infinity, type) : number(MinInteger(type));
    case Aggregation::kMin:
      return IsFloat(type) ? sem::Float(infinity, type) : number(MaxInteger(type));
    default:
      return number(0);
  }
}

ExprPtr All(const IndexEmitter& indices, const std::vector<math::RangeConstraint>& constraints) {
  ExprPtr all;
  for (const math::RangeConstraint& constraint : constraints) {
    ExprPtr condition = indices.Condition(constraint);
    if (condition == nullptr) continue;
    all = all == nullptr ? condition : sem::And(all, condition);
  }
  return all;
}

std::vector<Position> OutputPositions(const poly::FlatContraction& flat,
                                      const plan::KernelPlan& plan) {
  std::vector<Position> positions = {Position(flat.indices.size(), 0)};
  auto spread = [&](int index, int64_t step) {
    std::vector<Position> spread_positions;
    for (const Position& position : positions) {
      for (int64_t offset = 0; offset < plan.unroll[index]; offset += step) {
        spread_positions.push_back(position);
        spread_positions.back()[index] = offset;
      }
    }
    positions = std::move(spread_positions);
  };
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (i != plan.vector_index) spread(i, 1);
  }
  const bool vector_is_output =
      plan.vector_index >= 0 && plan.vector_index < flat.output_index_count;
  if (vector_is_output) spread(plan.vector_index, plan.lanes);
  return positions;
}

Reduction::Reduction(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                     IndexEmitter& indices, const std::vector<std::string>& names,
                     const TaskBlock* block)
    : flat_(flat),
      plan_(plan),
      indices_(indices),
      names_(names),
      block_(block),
      positions_(OutputPositions(flat, plan)) {
  for (const math::RangeConstraint& constraint : flat_.constraints) {
    if (!DependsOnTile(constraint)) continue;
    tile_constraints_.push_back(constraint);
    tile_level_ = std::max(tile_level_, LevelOf(constraint));
  }
}

bool Reduction::VectorIsReduced() const { return plan_.vector_index >= flat_.output_index_count; }

// Along a reduced index the elements that fill no tile are aggregated one by one.
bool Reduction::HasTail() const {
  return VectorIsReduced() &&
         flat_.indices[plan_.vector_index].range % plan_.unroll[plan_.vector_index] != 0;
}

int64_t Reduction::partials() const {
  return VectorIsReduced() ? plan_.unroll[plan_.vector_index] / plan_.lanes : 1;
}

sem::Type Reduction::AccumulatorType(bool is_tail) const {
  return {flat_.accumulator_type, is_tail ? 1 : plan_.lanes};
}

std::string Reduction::AccumulatorName(size_t position, int64_t partial, bool is_tail) const {
  if (is_tail) return absl::StrCat("tail", position);
  if (positions_.size() == 1 && partials() == 1) return "acc";
  return absl::StrCat("acc", position, partials() == 1 ? "" : absl::StrCat("_", partial));
}

std::vector<std::string> Reduction::AccumulatorNames() const {
  std::vector<std::string> names;
  for (size_t p = 0; p < positions_.size(); ++p) names.push_back(AccumulatorName(p, 0, false));
  return names;
}

std::vector<StmtPtr> Reduction::Suspend() const {
  return block_->Suspend(positions_, AccumulatorNames());
}

std::vector<StmtPtr> Reduction::Emit() {
  std::vector<StmtPtr> statements;
  const ExprPtr identity = Identity(flat_.aggregation, flat_.accumulator_type);
  for (size_t p = 0; p < positions_.size(); ++p) {
    for (int64_t partial = 0; partial < partials(); ++partial) {
      statements.push_back(sem::MakeDeclare(AccumulatorType(false),
                                            AccumulatorName(p, partial, false),
                                            sem::Splat(identity, plan_.lanes), true));
    }
    if (HasTail()) {
      statements.push_back(
          sem::MakeDeclare(AccumulatorType(true), AccumulatorName(p, 0, true), identity, true));
    }
  }
  if (flat_.needs_hits()) {
    statements.push_back(sem::MakeDeclare({DataType::kInt32, 1}, "hit", sem::Int(0), true));
  }
  if (block_ != nullptr && block_->has_runs()) {
    statements.push_back(block_->Resume(positions_, AccumulatorNames()));
  }
  statements.push_back(Loops(0, false));
  return statements;
}

ExprPtr Reduction::Hit() const {
  return sem::ApplyOp(ScalarOp::kNotEqual, {sem::Var("hit", {DataType::kInt32, 1}), sem::Int(0)});
}

// The position in the loop order of the last reduced index the constraint needs, plus 1.
int Reduction::LevelOf(const math::RangeConstraint& constraint) const {
  int level = 0;
  for (size_t l = 0; l < plan_.reduction_order.size(); ++l) {
    if (!constraint.poly.coefficient(plan_.reduction_order[l]).is_zero()) {
      level = static_cast<int>(l) + 1;
    }
  }
  return level;
}

bool Reduction::DependsOnTile(const math::RangeConstraint& constraint) const {
  for (size_t i = 0; i < flat_.indices.size(); ++i) {
    const int index = static_cast<int>(i);
    if (plan_.unroll[i] > 1 && !constraint.poly.coefficient(index).is_zero()) return true;
  }
  return false;
}

// Each constraint is checked as soon as the indices it needs are known. Those on the tile divide
// the work: where they hold all over the tile nothing is checked inside.
StmtPtr Reduction::Loops(int level, bool checked) {
  std::vector<math::RangeConstraint> known;
  for (const math::RangeConstraint& constraint : flat_.constraints) {
    if (!DependsOnTile(constraint) && LevelOf(constraint) == level) known.push_back(constraint);
  }
  StmtPtr inner;
  if (level == tile_level_ && !checked) {
    inner = sem::MakeIf(HoldsEverywhere(tile_constraints_), Loop(level, false), Loop(level, true));
  } else {
    inner = Loop(level, checked);
  }
  const ExprPtr condition = All(indices_, known);
  return condition == nullptr ? inner : sem::MakeIf(condition, std::move(inner));
}

StmtPtr Reduction::Loop(int level, bool checked) {
  if (level == static_cast<int>(plan_.reduction_order.size())) return Accumulate(checked, false);
  const int i = plan_.reduction_order[level];
  const int64_t range = flat_.indices[i].range;
  const sem::Type type = {indices_.type(), 1};
  indices_.Set(i, sem::Var(names_[i], type));
  const ExprPtr zero = indices_.Number(0);
  if (i != plan_.vector_index) {
    const ExprPtr begin = block_ != nullptr ? block_->Begin(i) : zero;
    const ExprPtr end = block_ != nullptr ? block_->End(i) : indices_.Number(range);
    return sem::MakeFor(names_[i], begin, end, Loops(level + 1, checked));
  }
  const int64_t step = plan_.unroll[i];
  const ExprPtr whole = indices_.Number(range / step * step);
  StmtPtr vectors = sem::MakeFor(names_[i], zero, whole, Loops(level + 1, checked), step);
  if (!HasTail()) return vectors;
  // Constraints that need this index were not looked at yet.
  const bool check_tail = checked || tile_level_ > level;
  return sem::MakeBlock({std::move(vectors), sem::MakeFor(names_[i], whole, indices_.Number(range),
                                                          Accumulate(check_tail, true))});
}

StmtPtr Reduction::Accumulate(bool checked, bool is_tail) {
  std::vector<StmtPtr> statements;
  std::vector<Position> positions;
  for (const Position& position : positions_) {
    for (int64_t partial = 0; partial < (is_tail ? 1 : partials()); ++partial) {
      positions.push_back(position);
      if (VectorIsReduced()) positions.back()[plan_.vector_index] = partial * plan_.lanes;
    }
  }
  const VectorShape vector = {plan_.vector_index, is_tail ? 1 : plan_.lanes};
  ExprEmitter emitter(flat_, indices_, vector, positions, "t", &statements);
  if (checked) emitter.CheckReads(tile_constraints_);
  if (block_ != nullptr) {
    for (auto& [access, read] : block_->Reads()) emitter.ReadStaged(access, read);
  }
  emitter.Count(flat_.body);
  const int64_t count = is_tail ? 1 : partials();
  for (size_t n = 0; n < positions.size(); ++n) {
    emitter.MoveTo(positions[n]);
    const std::string name = AccumulatorName(n / count, static_cast<int64_t>(n) % count, is_tail);
    ExprPtr value = emitter.Emit(flat_.body);
    if (checked) {
      if (const ExprPtr valid = emitter.EmitConditions(tile_constraints_); valid != nullptr) {
        const ExprPtr identity = Identity(flat_.aggregation, flat_.accumulator_type);
        const int lanes = std::max(valid->type.lanes, value->type.lanes);
        value = sem::Select(valid, sem::Splat(value, lanes), sem::Splat(identity, lanes));
      }
    }
    statements.push_back(
        sem::MakeAssign(name, Aggregate(sem::Var(name, AccumulatorType(is_tail)), value)));
  }
  if (flat_.needs_hits()) statements.push_back(sem::MakeAssign("hit", sem::Int(1)));
  return sem::MakeBlock(std::move(statements));
}

ExprPtr Reduction::Aggregate(const ExprPtr& old, const ExprPtr& value) const {
  const auto* apply = std::get_if<sem::Apply>(&value->node);
  if (flat_.aggregation == Aggregation::kSum && IsFloat(flat_.accumulator_type) &&
      apply != nullptr && apply->op == ScalarOp::kMul) {
    return sem::MulAdd(apply->operands[0], apply->operands[1], old);
  }
  return sem::ApplyOp(AggregationOp(flat_.aggregation), {old, value});
}

ExprPtr Reduction::HoldsEverywhere(const std::vector<math::RangeConstraint>& constraints) const {
  ExprPtr all = sem::Bool(true);
  for (const math::RangeConstraint& constraint : constraints) {
    int64_t below = 0;  // how far the polynomial goes down and up within the tile
    int64_t above = 0;
    for (size_t i = 0; i < flat_.indices.size(); ++i) {
      const int64_t reach =
          constraint.poly.coefficient(static_cast<int>(i)).numerator() * (plan_.unroll[i] - 1);
      (reach < 0 ? below : above) += reach;
    }
    for (int64_t shift : {below, above}) {
      const ExprPtr condition = indices_.Condition(constraint, shift);
      if (condition != nullptr) all = sem::And(all, condition);
      if (below == above) break;
    }
  }
  return all;
}

ExprPtr Reduction::Total(int output_position, std::vector<StmtPtr>* block) const {
  const size_t position = static_cast<size_t>(output_position);
  const ScalarOp op = AggregationOp(flat_.aggregation);
  ExprPtr sum = sem::Var(AccumulatorName(position, 0, false), AccumulatorType(false));
  for (int64_t partial = 1; partial < partials(); ++partial) {
    sum = sem::ApplyOp(
        op, {sum, sem::Var(AccumulatorName(position, partial, false), AccumulatorType(false))});
  }
  if (!VectorIsReduced() || plan_.lanes == 1) return sum;
  const std::string name = absl::StrCat("sum", position);
  block->push_back(sem::MakeDeclare(AccumulatorType(false), name, sum));
  std::vector<ExprPtr> parts;
  for (int lane = 0; lane < plan_.lanes; ++lane) {
    parts.push_back(sem::LaneOf(sem::Var(name, AccumulatorType(false)), lane));
  }
  for (; parts.size() > 1; parts.resize(parts.size() / 2)) {  // by halves
    for (size_t i = 0; i < parts.size() / 2; ++i) {
      parts[i] = sem::ApplyOp(op, {parts[i], parts[i + parts.size() / 2]});
    }
  }
  if (!HasTail()) return parts[0];
  return sem::ApplyOp(
      op, {parts[0], sem::Var(AccumulatorName(position, 0, true), AccumulatorType(true))});
}

}  // namespace tartan::lower
