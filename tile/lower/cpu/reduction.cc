// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/reduction.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

}  // namespace

ExprPtr Identity(Aggregation aggregation, DataType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto number = [type](int64_t value) {
    if (type == DataType::kBool) return loop::Bool(value != 0);
    if (IsFloat(type)) return loop::Float(static_cast<double>(value), type);
    return loop::Int(value, type);
  };
  switch (aggregation) {
    case Aggregation::kProduct:
      return number(1);
    case Aggregation::kMax:
      return IsFloat(type) ? loop::Float(-infinity, type) : number(MinInteger(type));
    case Aggregation::kMin:
      return IsFloat(type) ? loop::Float(infinity, type) : number(MaxInteger(type));
    default:
      return number(0);
  }
}

ExprPtr All(const IndexEmitter& indices, const std::vector<math::RangeConstraint>& constraints) {
  ExprPtr all;
  for (const math::RangeConstraint& constraint : constraints) {
    ExprPtr condition = indices.Condition(constraint);
    if (condition == nullptr) continue;
    all = all == nullptr ? condition : loop::And(all, condition);
  }
  return all;
}

std::vector<Position> OutputPositions(const poly::FlatContraction& flat,
                                      const plan::CpuPlan& plan) {
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

Reduction::Reduction(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                     IndexEmitter& indices, const std::vector<std::string>& names,
                     const TaskBlock* block)
    : flat_(flat),
      plan_(plan),
      indices_(indices),
      names_(names),
      block_(block),
      positions_(OutputPositions(flat, plan)),
      chunks_(indices.has_size_arguments() ? ChunkSumOfAnySize(flat, plan) : ChunkSum(flat, plan)),
      factor_(chunks_.level == 0 && chunks_.steps == 1 && chunks_.fine_steps == 0
                  ? SplitChunkFactor(flat, plan)
                  : std::nullopt) {
  for (const math::RangeConstraint& constraint : flat_.constraints) {
    if (!DependsOnTile(constraint)) continue;
    tile_constraints_.push_back(constraint);
    tile_level_ = std::max(tile_level_, LevelOf(constraint));
  }
}

bool Reduction::VectorIsReduced() const { return plan_.vector_index >= flat_.output_index_count; }

// Returns whether elements along a reduced vector index are left that fill no tile; they are
// aggregated singly.
bool Reduction::HasTail() const {
  return VectorIsReduced() &&
         (indices_.has_size_arguments() ||
          flat_.indices[plan_.vector_index].range % plan_.unroll[plan_.vector_index] != 0);
}

int64_t Reduction::partials() const {
  return VectorIsReduced() ? plan_.unroll[plan_.vector_index] / plan_.lanes : 1;
}

loop::Type Reduction::AccumulatorType(bool is_tail) const {
  return {flat_.accumulator_type, is_tail ? 1 : plan_.lanes};
}

std::string Reduction::AccumulatorName(size_t position, int64_t partial, bool is_tail) const {
  constexpr absl::string_view kPrefixes[] = {"acc", "chunk", "part"};
  constexpr absl::string_view kTails[] = {"tail", "run_tail", "part_tail"};
  if (is_tail) return absl::StrCat(kTails[depth_], position);
  const absl::string_view prefix = kPrefixes[depth_];
  if (positions_.size() == 1 && partials() == 1) return std::string(prefix);
  return absl::StrCat(prefix, position, partials() == 1 ? "" : absl::StrCat("_", partial));
}

std::vector<Reduction::Accumulator> Reduction::Accumulators(bool with_tails) const {
  std::vector<Accumulator> accumulators;
  for (size_t p = 0; p < positions_.size(); ++p) {
    for (int64_t partial = 0; partial < partials(); ++partial) {
      accumulators.push_back({AccumulatorName(p, partial, false), AccumulatorType(false)});
    }
    if (with_tails) accumulators.push_back({AccumulatorName(p, 0, true), AccumulatorType(true)});
  }
  return accumulators;
}

std::vector<StmtPtr> Reduction::Declare(const std::vector<Accumulator>& accumulators) const {
  const ExprPtr identity = Identity(flat_.aggregation, flat_.accumulator_type);
  std::vector<StmtPtr> statements;
  for (const Accumulator& accumulator : accumulators) {
    statements.push_back(loop::MakeDeclare(accumulator.type, accumulator.name,
                                           loop::Splat(identity, accumulator.type.lanes), true));
  }
  return statements;
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
  std::vector<StmtPtr> statements = DeclareAccumulators();
  if (block_ != nullptr && block_->has_chunks()) {
    statements.push_back(block_->Resume(positions_, AccumulatorNames()));
  }
  for (int i : plan_.reduction_order) {
    if (plan::IsUnrolled(flat_, plan_, i)) indices_.Set(i, indices_.Number(0));
  }
  statements.push_back(Loops(0, false));
  return statements;
}

std::vector<StmtPtr> Reduction::DeclareAccumulators() const {
  std::vector<StmtPtr> statements = Declare(Accumulators(HasTail()));
  if (flat_.needs_hits()) {
    statements.push_back(loop::MakeDeclare({DataType::kInt32, 1}, "hit", loop::Int(0), true));
  }
  return statements;
}

StmtPtr Reduction::AggregateTail() {
  if (!HasTail()) return loop::MakeBlock({});
  const int i = plan_.vector_index;
  const int64_t range = flat_.indices[i].range;
  indices_.Set(i, loop::Var(names_[i], indices_.IndexType()));
  return loop::MakeFor(names_[i], indices_.Number(range / plan_.unroll[i] * plan_.unroll[i]),
                       indices_.Number(range), Accumulate(false, true));
}

ExprPtr Reduction::Hit() const {
  return loop::ApplyOp(ScalarOp::kNotEqual,
                       {loop::Var("hit", {DataType::kInt32, 1}), loop::Int(0)});
}

// The number of outer loop levels after which the constraint can be evaluated.
int Reduction::LevelOf(const math::RangeConstraint& constraint) const {
  int level = 0;
  for (size_t l = 0; l < plan_.reduction_order.size(); ++l) {
    const int i = plan_.reduction_order[l];
    if (!constraint.poly.coefficient(i).is_zero() && !plan::IsUnrolled(flat_, plan_, i)) {
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

// Each constraint is checked as soon as the indices it needs are known. Constraints on the tile
// select between two versions: if they hold for the whole tile, the inner code checks nothing.
StmtPtr Reduction::Loops(int level, bool checked) {
  std::vector<math::RangeConstraint> known;
  for (const math::RangeConstraint& constraint : flat_.constraints) {
    if (!DependsOnTile(constraint) && LevelOf(constraint) == level) known.push_back(constraint);
  }
  StmtPtr inner;
  if (level == tile_level_ && !checked) {
    Position last = plan_.unroll;
    for (int64_t& values : last) --values;
    const ExprPtr everywhere = indices_.HoldsAcross(OpenConstraints(), last);
    if (const auto decided = loop::LiteralValue(everywhere)) {
      inner = Loop(level, *decided == 0);
    } else {
      inner = loop::MakeIf(everywhere, Loop(level, false), Loop(level, true));
    }
  } else {
    inner = Loop(level, checked);
  }
  const ExprPtr condition = All(indices_, known);
  return condition == nullptr ? inner : loop::MakeIf(condition, std::move(inner));
}

StmtPtr Reduction::Loop(int level, bool checked) {
  if (level == static_cast<int>(plan_.reduction_order.size())) return Accumulate(checked, false);
  const int i = plan_.reduction_order[level];
  const int64_t range = flat_.indices[i].range;
  const loop::Type type = indices_.IndexType();
  if (plan::IsUnrolled(flat_, plan_, i)) return Loops(level + 1, checked);
  indices_.Set(i, loop::Var(names_[i], type));
  if (i != plan_.vector_index) {
    const ExprPtr begin = block_ != nullptr ? block_->Begin(i) : indices_.Number(0);
    const ExprPtr end = block_ != nullptr ? block_->End(i) : indices_.Size(RangeRole(i), range);
    return Steps(level, checked, begin, end, 1);
  }
  const int64_t step = plan_.unroll[i];
  const ExprPtr whole = indices_.Size(absl::StrCat("whole ", i), range / step * step);
  StmtPtr vectors = Steps(level, checked, indices_.Number(0), whole, step);
  if (!HasTail()) return vectors;
  // The tail must check the constraints that need this index.
  const bool check_tail = checked || tile_level_ > level;
  return loop::MakeBlock(
      {std::move(vectors), loop::MakeFor(names_[i], whole, indices_.Size(RangeRole(i), range),
                                         Accumulate(check_tail, true))});
}

StmtPtr Reduction::Steps(int level, bool checked, const ExprPtr& begin, const ExprPtr& end,
                         int64_t step) {
  const int i = plan_.reduction_order[level];
  const std::string& name = names_[i];
  const int64_t steps = level == chunks_.level ? StepsPerChunk() : 0;
  if (steps == 0) return loop::MakeFor(name, begin, end, Loops(level + 1, checked), step);
  const int64_t length = steps * step;
  if (indices_.has_size_arguments() && !factor_) {
    return ChunksOfAnyLength(level, checked, end, length);
  }
  std::vector<StmtPtr> parts;
  ExprPtr rest = begin;
  if (chunks_.are_two) {
    rest = loop::Add(begin, indices_.Number(length));
    parts.push_back(loop::MakeFor(name, begin, rest, Loops(level + 1, checked), step));
  }
  const std::string from = steps == 1 ? name : absl::StrCat(name, depth_ == 0 ? "from" : "part");
  // Otherwise the loops inside this one add up the tails.
  const bool with_tails = HasTail() && i != plan_.vector_index;
  std::vector<StmtPtr> statements = BeginChunk(with_tails);
  const bool is_one = BlockChunk(i) == length;
  if (is_one) {
    statements.push_back(Steps(level, checked, begin, end, step));
  } else if (steps == 1) {
    statements.push_back(Loops(level + 1, checked));
  } else {
    const ExprPtr first = loop::Var(from, indices_.IndexType());
    const ExprPtr past = loop::Add(first, indices_.Number(length));
    const bool is_whole = ChunksDivide(i, chunks_.steps * step) && chunks_.steps % steps == 0;
    statements.push_back(
        Steps(level, checked, first, is_whole ? past : loop::Min(past, end), step));
  }
  if (factor_ && is_one) indices_.Set(i, begin);
  for (StmtPtr& statement : EndChunk(with_tails)) statements.push_back(std::move(statement));
  StmtPtr chunk = loop::MakeBlock(std::move(statements));
  if (is_one) return chunk;
  parts.push_back(loop::MakeFor(from, rest, end, std::move(chunk), length));
  return loop::MakeBlock(std::move(parts));
}

// The loop in chunks whose length and number are kernel arguments.
StmtPtr Reduction::ChunksOfAnyLength(int level, bool checked, const ExprPtr& end, int64_t length) {
  const int i = plan_.reduction_order[level];
  const int64_t step = i == plan_.vector_index ? plan_.unroll[i] : 1;
  const int64_t values = flat_.indices[i].range / step * step;
  const loop::Type type = indices_.IndexType();
  const std::string chunk = absl::StrCat(names_[i], "chunk");
  const std::string from = absl::StrCat(names_[i], "from");
  const ExprPtr size = indices_.Size(absl::StrCat("chunk ", i), length);
  const ExprPtr first = loop::Var(from, type);
  const bool with_tails = HasTail() && i != plan_.vector_index;
  std::vector<StmtPtr> statements = {
      loop::MakeDeclare(type, from, loop::Mul(loop::Var(chunk, type), size))};
  for (StmtPtr& statement : BeginChunk(with_tails)) statements.push_back(std::move(statement));
  statements.push_back(loop::MakeFor(names_[i], first, loop::Min(loop::Add(first, size), end),
                                     Loops(level + 1, checked), step));
  for (StmtPtr& statement : EndChunk(with_tails)) statements.push_back(std::move(statement));
  return loop::MakeFor(chunk, indices_.Number(0),
                       indices_.Size(absl::StrCat("chunks ", i), (values + length - 1) / length),
                       loop::MakeBlock(std::move(statements)));
}

int64_t Reduction::StepsPerChunk() const {
  if (depth_ == 0) return chunks_.steps;
  return depth_ == 1 ? chunks_.fine_steps : 0;
}

std::vector<StmtPtr> Reduction::BeginChunk() { return BeginChunk(false); }

std::vector<StmtPtr> Reduction::EndChunk() { return EndChunk(false); }

std::vector<StmtPtr> Reduction::BeginChunk(bool with_tails) {
  ++depth_;
  return Declare(Accumulators(with_tails));
}

std::vector<StmtPtr> Reduction::EndChunk(bool with_tails) {
  if (factor_) return EndScaledChunk();
  const std::vector<Accumulator> sums = Accumulators(with_tails);
  --depth_;
  const std::vector<Accumulator> totals = Accumulators(with_tails);
  std::vector<StmtPtr> statements;
  for (size_t a = 0; a < totals.size(); ++a) {
    statements.push_back(loop::MakeAssign(
        totals[a].name, loop::ApplyOp(ScalarOp::kAdd, {loop::Var(totals[a].name, totals[a].type),
                                                       loop::Var(sums[a].name, sums[a].type)})));
  }
  return statements;
}

// Returns whether chunks of `length` values of the index divide its loop evenly.
bool Reduction::ChunksDivide(int i, int64_t length) const {
  const int64_t range = flat_.indices[i].range;
  const int64_t chunk = BlockChunk(i);
  if (chunk > 0) return chunk % length == 0 && range % chunk == 0;
  return range / plan_.unroll[i] * plan_.unroll[i] % length == 0;
}

std::vector<math::RangeConstraint> Reduction::OpenConstraints() const {
  std::vector<math::RangeConstraint> open;
  for (const math::RangeConstraint& constraint : tile_constraints_) {
    if (std::find(assumed_.begin(), assumed_.end(), constraint) == assumed_.end()) {
      open.push_back(constraint);
    }
  }
  return open;
}

ExprPtr Reduction::Total(int output_position, std::vector<StmtPtr>* block) const {
  const size_t position = static_cast<size_t>(output_position);
  const ScalarOp op = poly::AggregationOp(flat_.aggregation);
  ExprPtr sum = loop::Var(AccumulatorName(position, 0, false), AccumulatorType(false));
  for (int64_t partial = 1; partial < partials(); ++partial) {
    sum = loop::ApplyOp(
        op, {sum, loop::Var(AccumulatorName(position, partial, false), AccumulatorType(false))});
  }
  if (!VectorIsReduced() || plan_.lanes == 1) return sum;
  const std::string name = absl::StrCat("sum", position);
  block->push_back(loop::MakeDeclare(AccumulatorType(false), name, sum));
  std::vector<ExprPtr> parts;
  for (int lane = 0; lane < plan_.lanes; ++lane) {
    parts.push_back(loop::LaneOf(loop::Var(name, AccumulatorType(false)), lane));
  }
  for (; parts.size() > 1; parts.resize(parts.size() / 2)) {  // tree reduction
    for (size_t i = 0; i < parts.size() / 2; ++i) {
      parts[i] = loop::ApplyOp(op, {parts[i], parts[i + parts.size() / 2]});
    }
  }
  if (!HasTail()) return parts[0];
  return loop::ApplyOp(
      op, {parts[0], loop::Var(AccumulatorName(position, 0, true), AccumulatorType(true))});
}

}  // namespace tartan::lower
