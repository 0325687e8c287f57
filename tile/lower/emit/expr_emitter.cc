// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/emit/expr_emitter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/lower/emit/size_arguments.h"
#include "tile/poly/coords.h"

namespace tartan::lower {
namespace {

constexpr uint64_t kAccumulatorBit = uint64_t{1} << 63;
constexpr uint64_t kAnyIndex = kAccumulatorBit - 1;

bool IsMask(const loop::ExprPtr& value) {
  return value->type.element == DataType::kBool && value->type.lanes > 1;
}

loop::ExprPtr One(DataType type) {
  return IsFloat(type) ? loop::Float(1, type) : loop::Int(1, type);
}

loop::ExprPtr Zero(DataType type) {
  return IsFloat(type) ? loop::Float(0, type) : loop::Int(0, type);
}

// Broadcasts a scalar condition to a mask.
loop::ExprPtr AsMask(const loop::ExprPtr& value, int lanes) {
  if (value->type.lanes > 1 || value->type.element != DataType::kBool) return value;
  const loop::ExprPtr number = loop::Select(value, loop::Int(1), loop::Int(0));
  return loop::ApplyOp(ScalarOp::kNotEqual, {loop::Splat(number, lanes), loop::Int(0)});
}

// Counts the mask operations of which a mask consists, up to `limit`.
int MaskOperations(const loop::ExprPtr& mask, int limit) {
  const auto* apply = std::get_if<loop::Apply>(&mask->node);
  if (limit == 0 || apply == nullptr || !IsMask(apply->operands[0])) return 0;
  int count = 1;
  for (const loop::ExprPtr& operand : apply->operands) {
    count += MaskOperations(operand, limit - count);
  }
  return count;
}

bool Contains(const std::vector<math::RangeConstraint>& constraints,
              const math::RangeConstraint& constraint) {
  return std::find(constraints.begin(), constraints.end(), constraint) != constraints.end();
}

}  // namespace

ExprEmitter::ExprEmitter(const poly::FlatContraction& flat, const IndexEmitter& indices,
                         VectorShape vector, const std::vector<Position>& positions,
                         std::string prefix, std::vector<loop::StmtPtr>* block)
    : flat_(flat),
      indices_(indices),
      vector_(vector),
      positions_(positions),
      prefix_(std::move(prefix)),
      block_(block),
      position_(flat.indices.size(), 0) {
  for (const Position& position : positions) {
    for (size_t i = 0; i < position.size(); ++i) {
      if (position[i] != positions.front()[i]) tile_ |= BitOf(static_cast<int>(i));
    }
  }
}

void ExprEmitter::Count(const poly::ExprPtr& expr) {
  if (++uses_[expr.get()] > 1) return;
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    for (const poly::ExprPtr& operand : apply->operands) Count(operand);
  } else if (const auto* read = std::get_if<poly::ReadAt>(&expr->node)) {
    for (const poly::ExprPtr& coordinate : read->coordinates) Count(coordinate);
  } else if (const auto* choice = std::get_if<poly::Choice>(&expr->node)) {
    for (const poly::ExprPtr& value : choice->values) Count(value);
  }
}

void ExprEmitter::MoveTo(const Position& position, std::vector<loop::ExprPtr> accumulators) {
  position_ = position;
  accumulators_ = std::move(accumulators);
}

ExprEmitter::Dependence ExprEmitter::BitOf(int index) {
  return index < 0 ? 0 : Dependence{1} << std::min(index, 62);
}

ExprEmitter::Dependence ExprEmitter::DependenceOf(const math::Affine& poly) const {
  Dependence dependence = 0;
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
    if (!poly.coefficient(i).is_zero()) dependence |= BitOf(i);
  }
  return dependence;
}

ExprEmitter::Dependence ExprEmitter::DependenceOf(
    const std::vector<math::RangeConstraint>& constraints) const {
  Dependence dependence = 0;
  for (const math::RangeConstraint& constraint : constraints) {
    dependence |= DependenceOf(constraint.poly);
  }
  return dependence;
}

ExprEmitter::Dependence ExprEmitter::DependenceOf(const poly::ExprPtr& expr) {
  if (auto it = dependence_.find(expr.get()); it != dependence_.end()) return it->second;
  const Dependence dependence = Match(
      expr->node, [](const poly::Literal&) { return Dependence{0}; },
      [](const poly::Accumulator&) { return kAccumulatorBit | kAnyIndex; },
      [&](const poly::Read& read) {
        const poly::TensorAccess& access = flat_.accesses[read.access];
        const poly::FlatAccess flat =
            poly::Flatten(access.coords, flat_.tensors[access.tensor].shape.dims,
                          static_cast<int>(flat_.indices.size()));
        Dependence sum = DependenceOf(Unproven(access.guard)) | DependenceOf(checked_);
        for (size_t i = 0; i < flat.strides.size(); ++i) {
          if (flat.strides[i] != 0) sum |= BitOf(static_cast<int>(i));
        }
        return sum;
      },
      [&](const poly::Coordinate& coordinate) { return DependenceOf(coordinate.poly); },
      [&](const poly::Apply& apply) {
        Dependence sum = 0;
        for (const poly::ExprPtr& operand : apply.operands) sum |= DependenceOf(operand);
        return sum;
      },
      [&](const poly::InRange& in_range) {
        Dependence sum = 0;
        for (const math::RangeConstraint& constraint : in_range.constraints) {
          if (!Contains(assumed_, constraint)) sum |= DependenceOf(constraint.poly);
        }
        return sum;
      },
      [&](const poly::ReadAt& read) {
        Dependence sum = DependenceOf(Unproven(read.guard)) | DependenceOf(checked_);
        for (const poly::ExprPtr& coordinate : read.coordinates) sum |= DependenceOf(coordinate);
        return sum;
      },
      [&](const poly::Choice& choice) {
        Dependence sum = DependenceOf(choice.poly);
        for (const poly::ExprPtr& value : choice.values) sum |= DependenceOf(value);
        return sum;
      });
  dependence_.emplace(expr.get(), dependence);
  return dependence;
}

bool ExprEmitter::VariesByLane(Dependence dependence) const {
  return vector_.lanes > 1 && (dependence & BitOf(vector_.index)) != 0;
}

bool ExprEmitter::VaryByLane(const std::vector<math::RangeConstraint>& constraints) const {
  const auto is_multiple = [&](const math::Rational& value) {
    return value.numerator() % vector_.lanes == 0;
  };
  return std::any_of(
      constraints.begin(), constraints.end(), [&](const math::RangeConstraint& constraint) {
        if (!VariesByLane(DependenceOf(constraint.poly))) return false;
        // Vectors that begin at multiples of their lanes end before the next multiple.
        bool is_same = lanes_are_aligned_ && constraint.range % vector_.lanes == 0 &&
                       is_multiple(constraint.poly.constant) &&
                       constraint.poly.coefficient(vector_.index) == math::Rational(1);
        for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
          is_same = is_same && (i == vector_.index || is_multiple(constraint.poly.coefficient(i)));
        }
        return !is_same;
      });
}

bool ExprEmitter::IsShared(Dependence dependence) const { return (tile_ & ~dependence) != 0; }

std::string ExprEmitter::NewName() { return absl::StrCat(prefix_, next_name_++); }

bool ExprEmitter::CanBeNamed(const loop::ExprPtr& value) const {
  return value->type.lanes == 1 || value->type.element != DataType::kBool;
}

loop::ExprPtr ExprEmitter::Name(loop::ExprPtr value) {
  // A mask cannot be stored in a variable. A long mask expression is kept as integers, because the
  // size of nested masks would double with each use.
  if (constexpr int kLongMask = 12;
      IsMask(value) && MaskOperations(value, kLongMask) == kLongMask) {
    const loop::ExprPtr number = loop::Splat(loop::Int(1), value->type.lanes);
    value = loop::Select(std::move(value), number, loop::Int(0));
    return loop::ApplyOp(ScalarOp::kNotEqual, {Name(std::move(value)), loop::Int(0)});
  }
  if (std::holds_alternative<loop::Variable>(value->node) || !CanBeNamed(value)) return value;
  const std::string name = NewName();
  const loop::Type type = value->type;
  block_->push_back(loop::MakeDeclare(type, name, std::move(value)));
  return loop::Var(name, type);
}

loop::ExprPtr ExprEmitter::Emit(const poly::ExprPtr& expr) {
  const Dependence dependence = DependenceOf(expr);
  Key key = {expr.get(), {VariesByLane(dependence) ? vector_.lanes : 1}};
  for (size_t i = 0; i < position_.size(); ++i) {
    key.second.push_back((dependence & BitOf(static_cast<int>(i))) != 0 ? position_[i] : 0);
  }
  if (auto it = emitted_.find(key); it != emitted_.end()) return it->second;
  loop::ExprPtr value = EmitNew(expr);
  const bool trivial = std::holds_alternative<poly::Literal>(expr->node) ||
                       std::holds_alternative<poly::Accumulator>(expr->node);
  if (!trivial && (uses_[expr.get()] > 1 || IsShared(dependence))) value = Name(std::move(value));
  emitted_.emplace(std::move(key), value);
  return value;
}

loop::ExprPtr ExprEmitter::EmitNew(const poly::ExprPtr& expr) {
  return Match(
      expr->node,
      [&](const poly::Literal& literal) {
        if (const auto* i = std::get_if<int64_t>(&literal.value)) {
          if (expr->type == DataType::kBool) return loop::Bool(*i != 0);
          if (IsFloat(expr->type)) return loop::Float(static_cast<double>(*i), expr->type);
          return loop::Int(*i, expr->type);
        }
        return loop::Float(std::get<double>(literal.value), expr->type);
      },
      [&](const poly::Read& read) {
        const auto provided = provided_.find(read.access);
        if (provided != provided_.end()) {
          const bool is_one_lane = provided->second->type.lanes > vector_.lanes;
          return is_one_lane ? loop::LaneOf(provided->second, lane_) : provided->second;
        }
        const auto staged = staged_.find(read.access);
        if (staged != staged_.end()) return Loaded(EmitStaged(staged->second));
        return IsSliding(read.access) ? EmitSliding(expr, read.access)
                                      : Loaded(EmitRead(expr, flat_.accesses[read.access]));
      },
      [&](const poly::Accumulator& accumulator) { return accumulators_[accumulator.number]; },
      [&](const poly::Coordinate& coordinate) {
        const auto emit = [&] {
          return loop::Cast(indices_.Emit(coordinate.poly, position_), expr->type);
        };
        return VariesByLane(DependenceOf(coordinate.poly)) ? LaneByLane(expr->type, emit) : emit();
      },
      [&](const poly::Apply& apply) { return EmitApply(apply, expr->type); },
      [&](const poly::InRange& in_range) {
        loop::ExprPtr condition = EmitConditions(in_range.constraints);
        return condition == nullptr ? loop::Bool(true) : condition;
      },
      [&](const poly::ReadAt& read) { return Loaded(EmitReadAt(expr, read)); },
      [&](const poly::Choice& choice) {
        if (!VariesByLane(DependenceOf(choice.poly))) return EmitChoice(choice);
        return LaneByLane(expr->type, [&] { return EmitChoice(choice); });
      });
}

loop::ExprPtr ExprEmitter::EmitChoice(const poly::Choice& choice) {
  const loop::ExprPtr chosen = indices_.Emit(choice.poly, position_);
  if (const auto number = loop::LiteralValue(chosen)) return Emit(choice.values[*number]);
  loop::ExprPtr value = EmitChosen(choice.values.back());
  for (size_t v = choice.values.size() - 1; v-- > 0;) {
    const loop::ExprPtr other = EmitChosen(choice.values[v]);
    const int lanes = std::max(value->type.lanes, other->type.lanes);
    value = loop::Select(loop::Equals(chosen, indices_.Number(static_cast<int64_t>(v))),
                         loop::Splat(other, lanes), loop::Splat(value, lanes));
  }
  return value;
}

loop::ExprPtr ExprEmitter::EmitChosen(const poly::ExprPtr& expr) {
  ++choices_;
  loop::ExprPtr value = Emit(expr);
  --choices_;
  return value;
}

loop::ExprPtr ExprEmitter::Loaded(loop::ExprPtr value) {
  return loads_unconditionally_ && choices_ > 0 ? Name(std::move(value)) : value;
}

loop::ExprPtr ExprEmitter::EmitApply(const poly::Apply& apply, DataType type) {
  std::vector<loop::ExprPtr> operands;
  int lanes = 1;
  bool has_mask = false;
  for (const poly::ExprPtr& operand : apply.operands) {
    const bool is_number = indices_.has_size_arguments() &&
                           MayDependOnSizes(apply.op, *operand, indices_.index_type());
    const bool is_chosen = apply.op == ScalarOp::kSelect && !operands.empty();
    operands.push_back(is_number   ? indices_.LiteralNumber(operand)
                       : is_chosen ? EmitChosen(operand)
                                   : Emit(operand));
    // If the condition is a constant, the operand that is not selected is not emitted.
    const bool is_condition = apply.op == ScalarOp::kSelect && operands.size() == 1;
    const auto decided = is_condition ? loop::LiteralValue(operands[0]) : std::nullopt;
    if (decided && operands[0]->type.lanes == 1) return Emit(apply.operands[*decided ? 1 : 2]);
    lanes = std::max(lanes, operands.back()->type.lanes);
    has_mask |= IsMask(operands.back());
  }
  if (apply.op == ScalarOp::kCast) {
    if (!IsMask(operands[0])) return loop::Cast(operands[0], type);
    return loop::Select(operands[0], loop::Splat(One(type), lanes), Zero(type));
  }
  if (lanes > 1 && apply.op == ScalarOp::kSelect && type != DataType::kBool) {
    operands[1] = loop::Splat(operands[1], lanes);
  } else if (has_mask) {
    for (loop::ExprPtr& operand : operands) operand = AsMask(operand, lanes);
  }
  return loop::ApplyOp(apply.op, std::move(operands));
}

std::vector<math::RangeConstraint> ExprEmitter::Unproven(
    const std::vector<math::RangeConstraint>& guard) const {
  std::vector<math::RangeConstraint> left = checked_;
  for (const math::RangeConstraint& constraint : guard) {
    if (!Contains(assumed_, constraint) && !Contains(left, constraint)) left.push_back(constraint);
  }
  return left;
}

loop::ExprPtr ExprEmitter::EmitConditions(const std::vector<math::RangeConstraint>& all_of) {
  std::vector<math::RangeConstraint> constraints;
  for (const math::RangeConstraint& constraint : all_of) {
    if (!Contains(assumed_, constraint)) constraints.push_back(constraint);
  }
  if (VaryByLane(constraints)) {
    if (masks_lanes_ && indices_.index_type() == DataType::kInt32) return EmitMasks(constraints);
    return LaneByLane(DataType::kBool, [&] {
      const loop::ExprPtr condition = EmitConditions(constraints);
      return condition == nullptr ? loop::Bool(true) : condition;
    });
  }
  std::string key;
  for (const math::RangeConstraint& constraint : constraints) {
    absl::StrAppend(&key, constraint.ToString(), "+", ShiftAt(constraint.poly, position_), "|");
  }
  if (auto it = conditions_.find(key); it != conditions_.end()) return it->second;
  loop::ExprPtr all;
  for (const math::RangeConstraint& constraint : constraints) {
    loop::ExprPtr condition = indices_.Condition(constraint, ShiftAt(constraint.poly, position_));
    if (condition == nullptr) continue;
    all = all == nullptr ? condition : loop::And(all, condition);
  }
  const auto decided = all == nullptr ? std::nullopt : loop::LiteralValue(all);
  if (all != nullptr && !decided) all = Name(all);
  if (decided && *decided != 0) all = nullptr;
  conditions_.emplace(key, all);
  return all;
}

loop::ExprPtr ExprEmitter::EmitMasks(const std::vector<math::RangeConstraint>& constraints) {
  std::vector<math::RangeConstraint> same;  // the same in all lanes
  for (const math::RangeConstraint& constraint : constraints) {
    if (!VariesByLane(DependenceOf(constraint.poly))) same.push_back(constraint);
  }
  const loop::ExprPtr condition = EmitConditions(same);
  if (condition != nullptr && loop::LiteralValue(condition)) return condition;
  loop::ExprPtr mask;
  if (condition != nullptr) mask = AsMask(condition, vector_.lanes);
  for (const math::RangeConstraint& constraint : constraints) {
    if (!VariesByLane(DependenceOf(constraint.poly))) continue;
    const loop::ExprPtr lanes = EmitMask(constraint);
    if (lanes != nullptr) mask = mask == nullptr ? lanes : loop::And(mask, lanes);
  }
  return mask;
}

loop::ExprPtr ExprEmitter::EmitMask(const math::RangeConstraint& constraint) {
  const int lanes = vector_.lanes;
  if (lane_numbers_ == nullptr) {
    int64_t lane = 0;
    lane_numbers_ = Name(LaneByLane(DataType::kInt32, [&] { return loop::Int(lane++); }));
  }
  const loop::ExprPtr first = indices_.Emit(constraint.poly, position_);
  const int64_t step = constraint.poly.coefficient(vector_.index).numerator();
  const loop::ExprPtr values = loop::Add(
      loop::Mul(lane_numbers_, loop::Splat(loop::Int(step), lanes)), loop::Splat(first, lanes));
  return indices_.Condition(constraint, values);
}

loop::StmtPtr ExprEmitter::Store(size_t output, const loop::ExprPtr& value) const {
  const int count = static_cast<int>(flat_.indices.size());
  const poly::FlatAccess place = poly::Flatten(flat_.output_coords, flat_.output_dims, count);
  const int lanes = vector_.lanes;
  bool aligned = place.offset % lanes == 0;
  for (int i = 0; i < count; ++i) {
    if (i != vector_.index) aligned &= place.strides[i] % lanes == 0;
  }
  return loop::MakeStore(absl::StrCat("out", output), flat_.outputs[output].shape.type,
                         indices_.Emit(poly::AsAffine(place)),
                         lanes > 1 ? loop::Splat(value, lanes) : value, lanes > 1 && aligned);
}

}  // namespace tartan::lower
