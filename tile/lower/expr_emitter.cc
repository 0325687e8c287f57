#include "tile/lower/expr_emitter.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/poly/coords.h"

namespace tartan::lower {
namespace {

constexpr uint64_t kAccumulatorBit = uint64_t{1} << 63;
constexpr uint64_t kAnyIndex = kAccumulatorBit - 1;

uint64_t Bit(int index) { return index < 0 ? 0 : uint64_t{1} << std::min(index, 62); }

bool IsMask(const sem::ExprPtr& value) {
  return value->type.element == DataType::kBool && value->type.lanes > 1;
}

sem::ExprPtr One(DataType type) { return IsFloat(type) ? sem::Float(1, type) : sem::Int(1, type); }

sem::ExprPtr Zero(DataType type) { return IsFloat(type) ? sem::Float(0, type) : sem::Int(0, type); }

// A flag as one per lane.
sem::ExprPtr AsMask(const sem::ExprPtr& value, int lanes) {
  if (value->type.lanes > 1 || value->type.element != DataType::kBool) return value;
  const sem::ExprPtr number = sem::Select(value, sem::Int(1), sem::Int(0));
  return sem::ApplyOp(ScalarOp::kNotEqual, {sem::Splat(number, lanes), sem::Int(0)});
}

bool Contains(const std::vector<math::RangeConstraint>& constraints,
              const math::RangeConstraint& constraint) {
  return std::find(constraints.begin(), constraints.end(), constraint) != constraints.end();
}

}  // namespace

sem::ExprPtr IndexEmitter::Emit(const math::Affine& poly) const {
  sem::ExprPtr sum;
  for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
    const int64_t coefficient = poly.coefficient(i).numerator();
    if (coefficient == 0) continue;
    sem::ExprPtr term = sem::Mul(values_[i], Number(coefficient));
    sum = sum == nullptr ? term : sem::Add(sum, term);
  }
  const sem::ExprPtr constant = Number(poly.constant.numerator());
  return sum == nullptr ? constant : sem::Add(sum, constant);
}

sem::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint, int64_t shift) const {
  return Condition(constraint, Emit(constraint.poly + math::Affine::Constant(shift)));
}

sem::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint,
                                     const sem::ExprPtr& value) const {
  const auto [least, greatest] = poly::ValueRange(constraint.poly, flat_.indices);
  sem::ExprPtr condition;
  if (least < 0) condition = sem::ApplyOp(ScalarOp::kGreaterEqual, {value, Number(0)});
  if (greatest >= constraint.range) {
    const sem::ExprPtr below = sem::Less(value, Number(constraint.range));
    condition = condition == nullptr ? below : sem::And(condition, below);
  }
  return condition;
}

int64_t ShiftAt(const math::Affine& poly, const Position& position) {
  int64_t shift = 0;
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] != 0) shift += poly.coefficient(static_cast<int>(i)).numerator() * position[i];
  }
  return shift;
}

ExprEmitter::ExprEmitter(const poly::FlatContraction& flat, const IndexEmitter& indices,
                         VectorShape vector, const std::vector<Position>& positions,
                         std::string prefix, std::vector<sem::StmtPtr>* block)
    : flat_(flat),
      indices_(indices),
      vector_(vector),
      positions_(positions),
      prefix_(std::move(prefix)),
      block_(block),
      position_(flat.indices.size(), 0) {
  for (const Position& position : positions) {
    for (size_t i = 0; i < position.size(); ++i) {
      if (position[i] != positions.front()[i]) tile_ |= Bit(static_cast<int>(i));
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

void ExprEmitter::MoveTo(const Position& position, sem::ExprPtr accumulator) {
  position_ = position;
  accumulator_ = std::move(accumulator);
}

ExprEmitter::Dependence ExprEmitter::DependenceOf(const math::Affine& poly) const {
  Dependence dependence = 0;
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
    if (!poly.coefficient(i).is_zero()) dependence |= Bit(i);
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
          if (flat.strides[i] != 0) sum |= Bit(static_cast<int>(i));
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
  return vector_.lanes > 1 && (dependence & Bit(vector_.index)) != 0;
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

bool ExprEmitter::CanBeNamed(const sem::ExprPtr& value) const {
  return value->type.lanes == 1 || value->type.element != DataType::kBool;
}

sem::ExprPtr ExprEmitter::Name(sem::ExprPtr value) {
  if (std::holds_alternative<sem::Variable>(value->node) || !CanBeNamed(value)) return value;
  const std::string name = NewName();
  const sem::Type type = value->type;
  block_->push_back(sem::MakeDeclare(type, name, std::move(value)));
  return sem::Var(name, type);
}

sem::ExprPtr ExprEmitter::Emit(const poly::ExprPtr& expr) {
  const Dependence dependence = DependenceOf(expr);
  Key key = {expr.get(), {VariesByLane(dependence) ? vector_.lanes : 1}};
  for (size_t i = 0; i < position_.size(); ++i) {
    key.second.push_back((dependence & Bit(static_cast<int>(i))) != 0 ? position_[i] : 0);
  }
  if (auto it = emitted_.find(key); it != emitted_.end()) return it->second;
  sem::ExprPtr value = EmitNew(expr);
  const bool trivial = std::holds_alternative<poly::Literal>(expr->node) ||
                       std::holds_alternative<poly::Accumulator>(expr->node);
  if (!trivial && (uses_[expr.get()] > 1 || IsShared(dependence))) value = Name(std::move(value));
  emitted_.emplace(std::move(key), value);
  return value;
}

sem::ExprPtr ExprEmitter::EmitNew(const poly::ExprPtr& expr) {
  return Match(
      expr->node,
      [&](const poly::Literal& literal) {
        if (const auto* i = std::get_if<int64_t>(&literal.value)) {
          if (expr->type == DataType::kBool) return sem::Bool(*i != 0);
          if (IsFloat(expr->type)) return sem::Float(static_cast<double>(*i), expr->type);
          return sem::Int(*i, expr->type);
        }
        return sem::Float(std::get<double>(literal.value), expr->type);
      },
      [&](const poly::Read& read) {
        const auto provided = provided_.find(read.access);
        if (provided != provided_.end()) return provided->second;
        const auto staged = staged_.find(read.access);
        if (staged != staged_.end()) return EmitStaged(staged->second);
        return IsSliding(read.access) ? EmitSliding(expr, read.access)
                                      : EmitRead(expr, flat_.accesses[read.access]);
      },
      [&](const poly::Accumulator&) { return accumulator_; },
      [&](const poly::Coordinate& coordinate) {
        const auto emit = [&] {
          const int64_t shift = ShiftAt(coordinate.poly, position_);
          return sem::Cast(indices_.Emit(coordinate.poly + math::Affine::Constant(shift)),
                           expr->type);
        };
        return VariesByLane(DependenceOf(coordinate.poly)) ? LaneByLane(expr->type, emit) : emit();
      },
      [&](const poly::Apply& apply) { return EmitApply(apply, expr->type); },
      [&](const poly::InRange& in_range) {
        sem::ExprPtr condition = EmitConditions(in_range.constraints);
        return condition == nullptr ? sem::Bool(true) : condition;
      },
      [&](const poly::ReadAt& read) { return EmitReadAt(expr, read); },
      [&](const poly::Choice& choice) {
        if (!VariesByLane(DependenceOf(choice.poly))) return EmitChoice(choice);
        return LaneByLane(expr->type, [&] { return EmitChoice(choice); });
      });
}

sem::ExprPtr ExprEmitter::EmitChoice(const poly::Choice& choice) {
  const int64_t shift = ShiftAt(choice.poly, position_);
  const sem::ExprPtr chosen = indices_.Emit(choice.poly + math::Affine::Constant(shift));
  if (const auto number = sem::LiteralValue(chosen)) return Emit(choice.values[*number]);
  sem::ExprPtr value = Emit(choice.values.back());
  for (size_t v = choice.values.size() - 1; v-- > 0;) {
    const sem::ExprPtr other = Emit(choice.values[v]);
    const int lanes = std::max(value->type.lanes, other->type.lanes);
    value = sem::Select(sem::Equals(chosen, indices_.Number(static_cast<int64_t>(v))),
                        sem::Splat(other, lanes), sem::Splat(value, lanes));
  }
  return value;
}

sem::ExprPtr ExprEmitter::EmitApply(const poly::Apply& apply, DataType type) {
  std::vector<sem::ExprPtr> operands;
  int lanes = 1;
  bool has_mask = false;
  for (const poly::ExprPtr& operand : apply.operands) {
    operands.push_back(Emit(operand));
    // What is decided already leaves no trace of the other value.
    const bool is_condition = apply.op == ScalarOp::kSelect && operands.size() == 1;
    const auto decided = is_condition ? sem::LiteralValue(operands[0]) : std::nullopt;
    if (decided && operands[0]->type.lanes == 1) return Emit(apply.operands[*decided ? 1 : 2]);
    lanes = std::max(lanes, operands.back()->type.lanes);
    has_mask |= IsMask(operands.back());
  }
  if (apply.op == ScalarOp::kCast) {
    if (!IsMask(operands[0])) return sem::Cast(operands[0], type);
    return sem::Select(operands[0], sem::Splat(One(type), lanes), Zero(type));
  }
  if (lanes > 1 && apply.op == ScalarOp::kSelect && type != DataType::kBool) {
    operands[1] = sem::Splat(operands[1], lanes);
  } else if (has_mask) {
    for (sem::ExprPtr& operand : operands) operand = AsMask(operand, lanes);
  }
  return sem::ApplyOp(apply.op, std::move(operands));
}

sem::ExprPtr ExprEmitter::EmitConditions(const std::vector<math::RangeConstraint>& all_of) {
  std::vector<math::RangeConstraint> constraints;
  for (const math::RangeConstraint& constraint : all_of) {
    if (!Contains(assumed_, constraint)) constraints.push_back(constraint);
  }
  if (VaryByLane(constraints)) {
    if (masks_lanes_ && indices_.type() == DataType::kInt32) return EmitMasks(constraints);
    return LaneByLane(DataType::kBool, [&] {
      const sem::ExprPtr condition = EmitConditions(constraints);
      return condition == nullptr ? sem::Bool(true) : condition;
    });
  }
  std::string key;
  for (const math::RangeConstraint& constraint : constraints) {
    absl::StrAppend(&key, constraint.ToString(), "+", ShiftAt(constraint.poly, position_), "|");
  }
  if (auto it = conditions_.find(key); it != conditions_.end()) return it->second;
  sem::ExprPtr all;
  for (const math::RangeConstraint& constraint : constraints) {
    sem::ExprPtr condition = indices_.Condition(constraint, ShiftAt(constraint.poly, position_));
    if (condition == nullptr) continue;
    all = all == nullptr ? condition : sem::And(all, condition);
  }
  const auto decided = all == nullptr ? std::nullopt : sem::LiteralValue(all);
  if (all != nullptr && !decided) all = Name(all);
  if (decided && *decided != 0) all = nullptr;
  conditions_.emplace(key, all);
  return all;
}

sem::ExprPtr ExprEmitter::EmitMasks(const std::vector<math::RangeConstraint>& constraints) {
  std::vector<math::RangeConstraint> same;  // in all lanes
  for (const math::RangeConstraint& constraint : constraints) {
    if (!VariesByLane(DependenceOf(constraint.poly))) same.push_back(constraint);
  }
  const sem::ExprPtr condition = EmitConditions(same);
  if (condition != nullptr && sem::LiteralValue(condition)) return condition;
  sem::ExprPtr mask;
  if (condition != nullptr) mask = AsMask(condition, vector_.lanes);
  for (const math::RangeConstraint& constraint : constraints) {
    if (!VariesByLane(DependenceOf(constraint.poly))) continue;
    const sem::ExprPtr lanes = EmitMask(constraint);
    if (lanes != nullptr) mask = mask == nullptr ? lanes : sem::And(mask, lanes);
  }
  return mask;
}

sem::ExprPtr ExprEmitter::EmitMask(const math::RangeConstraint& constraint) {
  const int lanes = vector_.lanes;
  if (lane_numbers_ == nullptr) {
    int64_t lane = 0;
    lane_numbers_ = Name(LaneByLane(DataType::kInt32, [&] { return sem::Int(lane++); }));
  }
  const int64_t shift = ShiftAt(constraint.poly, position_);
  const sem::ExprPtr first = indices_.Emit(constraint.poly + math::Affine::Constant(shift));
  const int64_t step = constraint.poly.coefficient(vector_.index).numerator();
  const sem::ExprPtr values = sem::Add(sem::Mul(lane_numbers_, sem::Splat(sem::Int(step), lanes)),
                                       sem::Splat(first, lanes));
  return indices_.Condition(constraint, values);
}

bool ExprEmitter::IsAligned(const math::Affine& flat) const {
  if (!lanes_are_aligned_ || !(flat.constant.numerator() % vector_.lanes == 0)) return false;
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
    if (i != vector_.index && flat.coefficient(i).numerator() % vector_.lanes != 0) return false;
  }
  return true;
}

bool ExprEmitter::IsSliding(int access) {
  if (auto it = sliding_.find(access); it != sliding_.end()) return it->second;
  const poly::TensorAccess& read = flat_.accesses[access];
  const std::vector<int64_t> strides =
      poly::Flatten(read.coords, flat_.tensors[read.tensor].shape.dims,
                    static_cast<int>(flat_.indices.size()))
          .strides;
  std::set<int64_t> places;
  std::set<Position> projections;  // of positions, onto the indices that move the read
  for (const Position& position : positions_) {
    Position projection = position;
    int64_t place = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      place += strides[i] * position[i];
      if (strides[i] == 0) projection[i] = 0;
    }
    places.insert(place);
    projections.insert(std::move(projection));
  }
  const bool is_sliding = places.size() < projections.size();
  sliding_.emplace(access, is_sliding);
  return is_sliding;
}

sem::ExprPtr ExprEmitter::EmitSliding(const poly::ExprPtr& expr, int access) {
  const poly::TensorAccess& read = flat_.accesses[access];
  const poly::FlatAccess flat = poly::Flatten(read.coords, flat_.tensors[read.tensor].shape.dims,
                                              static_cast<int>(flat_.indices.size()));
  Key key = {expr.get(), {vector_.lanes, 0}};
  for (size_t i = 0; i < flat.strides.size(); ++i) {
    key.second[1] += flat.strides[i] * position_[i];
  }
  for (const math::RangeConstraint& constraint : Unproven(read.guard)) {
    key.second.push_back(ShiftAt(constraint.poly, position_));
  }
  if (auto it = places_.find(key); it != places_.end()) return it->second;
  const sem::ExprPtr value = Name(EmitRead(expr, read));
  places_.emplace(std::move(key), value);
  return value;
}

sem::ExprPtr ExprEmitter::EmitRead(const poly::ExprPtr& expr, const poly::TensorAccess& access) {
  math::Affine flat;
  const std::vector<int64_t> strides = RowMajorStrides(flat_.tensors[access.tensor].shape.dims);
  for (size_t d = 0; d < strides.size(); ++d) flat = flat + access.coords[d] * strides[d];
  const std::vector<math::RangeConstraint> guard = Unproven(access.guard);
  const auto emit = [&](int lanes, int64_t offset = 0) {
    const math::Affine shifted = flat + math::Affine::Constant(ShiftAt(flat, position_) + offset);
    return Load(access.tensor, indices_.Emit(shifted), lanes, guard,
                lanes > 1 && IsAligned(shifted));
  };
  if (!VariesByLane(DependenceOf(expr))) return emit(1);
  const bool together = expr->type != DataType::kBool && !VaryByLane(guard) &&
                        flat_.tensors[access.tensor].shape.element_count() >= vector_.lanes;
  const math::Rational stride = flat.coefficient(vector_.index);
  if (together && stride == math::Rational(1)) {
    // GPUs load vectors that begin anywhere one by one: so that each element is loaded once where
    // vectors overlap, these are elements from the beginning.
    const math::Affine first = flat + math::Affine::Constant(ShiftAt(flat, position_));
    if (!lanes_are_aligned_ || IsAligned(first)) return emit(vector_.lanes);
    const std::string name = NewName();
    std::vector<sem::ExprPtr> elements;
    for (int lane = 0; lane < vector_.lanes; ++lane) elements.push_back(Name(emit(1, lane)));
    block_->push_back(sem::MakeArray({expr->type, 1}, name, vector_.lanes));
    for (int lane = 0; lane < vector_.lanes; ++lane) {
      block_->push_back(
          sem::MakeStore(name, expr->type, indices_.Number(lane), std::move(elements[lane])));
    }
    return sem::LoadFrom(name, expr->type, indices_.Number(0), vector_.lanes);
  }
  // Every other element out of two vectors that overlap in one, so that nothing is read behind the
  // last of them.
  constexpr int kWideLanes = 8;  // as CPUs have them; GPUs load elements one by one
  if (together && stride == math::Rational(2) && vector_.lanes >= kWideLanes) {
    const int lanes = vector_.lanes;
    const sem::ExprPtr low = Name(emit(lanes));
    const sem::ExprPtr high = Name(emit(lanes, lanes - 1));
    std::vector<int> evens;
    for (int i = 0; i < lanes; ++i) evens.push_back(2 * i < lanes ? 2 * i : 2 * i + 1);
    return sem::MakeShuffle(low, high, evens);
  }
  if (const int row = TurnedIndex(expr, flat, access); row >= 0) {
    return EmitTurned(expr, flat, row);
  }
  return LaneByLane(expr->type, [&] { return emit(1); });
}

sem::ExprPtr ExprEmitter::EmitStaged(const StagedRead& read) const {
  const int64_t shift = ShiftAt(read.tile, position_) + ShiftAt(read.loops, position_);
  const math::Affine loops = read.loops + math::Affine::Constant(shift);
  return sem::LoadFrom(read.array, read.type, sem::Add(read.base, indices_.Emit(loops)),
                       VariesByLane(DependenceOf(read.tile)) ? vector_.lanes : 1);
}

int ExprEmitter::TurnedIndex(const poly::ExprPtr& expr, const math::Affine& flat,
                             const poly::TensorAccess& access) {
  if (tile_sizes_.empty() || expr->type == DataType::kBool) return -1;
  const Dependence guard = DependenceOf(Unproven(access.guard));
  if (VariesByLane(guard)) return -1;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    const bool is_whole = i != vector_.index && tile_sizes_[i] % vector_.lanes == 0;
    if (is_whole && flat.coefficient(i) == math::Rational(1) && (guard & Bit(i)) == 0) return i;
  }
  return -1;
}

sem::ExprPtr ExprEmitter::EmitTurned(const poly::ExprPtr& expr, const math::Affine& flat, int row) {
  const auto& access = flat_.accesses[std::get<poly::Read>(expr->node).access];
  const int lanes = vector_.lanes;
  const int64_t line = position_[row] % lanes;
  const Position saved = position_;
  position_[row] -= line;
  std::vector<sem::ExprPtr>& square = squares_[{expr.get(), position_}];
  if (square.empty()) {
    for (int i = 0; i < lanes; ++i) {
      const math::Affine shifted = flat + math::Affine::Constant(ShiftAt(flat, position_));
      square.push_back(
          Name(Load(access.tensor, indices_.Emit(shifted), lanes, Unproven(access.guard))));
      ++position_[vector_.index];
    }
    // Halves change places, then halves of halves, until lines are columns.
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      std::vector<int> low, high;
      for (int i = 0; i < lanes; ++i) {
        const bool is_first = (i & distance) == 0;
        low.push_back(is_first ? i : lanes + i - distance);
        high.push_back(is_first ? i + distance : lanes + i);
      }
      for (int i = 0; i < lanes; ++i) {
        if ((i & distance) != 0) continue;
        const sem::ExprPtr a = square[i];
        const sem::ExprPtr b = square[i + distance];
        square[i] = Name(sem::MakeShuffle(a, b, low));
        square[i + distance] = Name(sem::MakeShuffle(a, b, high));
      }
    }
  }
  position_ = saved;
  return square[line];
}

std::vector<math::RangeConstraint> ExprEmitter::Unproven(
    const std::vector<math::RangeConstraint>& guard) const {
  std::vector<math::RangeConstraint> left = checked_;
  for (const math::RangeConstraint& constraint : guard) {
    if (!Contains(assumed_, constraint) && !Contains(left, constraint)) left.push_back(constraint);
  }
  return left;
}

sem::ExprPtr ExprEmitter::Load(int tensor, sem::ExprPtr index, int lanes,
                               const std::vector<math::RangeConstraint>& guard, bool is_aligned) {
  // Outside the guard the first elements are read instead: a load is never out of bounds.
  if (const sem::ExprPtr condition = EmitConditions(guard); condition != nullptr) {
    index = sem::Select(condition, index, indices_.Number(0));
  }
  return sem::LoadFrom(absl::StrCat("in", tensor), flat_.tensors[tensor].shape.type,
                       std::move(index), lanes, is_aligned);
}

bool ExprEmitter::IsContiguous(const poly::ReadAt& read) {
  if (VaryByLane(Unproven(read.guard))) return false;
  const TensorShape& shape = flat_.tensors[read.tensor].shape;
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims);
  int64_t step = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (!VariesByLane(DependenceOf(read.coordinates[d]))) continue;
    const auto* coordinate = std::get_if<poly::Coordinate>(&read.coordinates[d]->node);
    if (coordinate == nullptr) return false;
    step += coordinate->poly.coefficient(vector_.index).numerator() * strides[d];
  }
  return step == 1 && shape.element_count() >= vector_.lanes;
}

sem::ExprPtr ExprEmitter::EmitReadAt(const poly::ExprPtr& expr, const poly::ReadAt& read) {
  const std::vector<int64_t> strides = RowMajorStrides(flat_.tensors[read.tensor].shape.dims);
  const auto emit = [&](int lanes) {
    sem::ExprPtr index = indices_.Number(0);
    for (size_t d = 0; d < strides.size(); ++d) {
      const sem::ExprPtr coordinate =
          sem::Cast(AtFirstLane([&] { return Emit(read.coordinates[d]); }), indices_.type());
      index = sem::Add(index, sem::Mul(coordinate, indices_.Number(strides[d])));
    }
    return Load(read.tensor, std::move(index), lanes, Unproven(read.guard));
  };
  if (!VariesByLane(DependenceOf(expr))) return emit(1);
  if (IsContiguous(read) && expr->type != DataType::kBool) return emit(vector_.lanes);
  return LaneByLane(expr->type, [&] { return emit(1); });
}

sem::ExprPtr ExprEmitter::AtFirstLane(const std::function<sem::ExprPtr()>& emit) {
  const int lanes = std::exchange(vector_.lanes, 1);
  sem::ExprPtr value = emit();
  vector_.lanes = lanes;
  return value;
}

sem::ExprPtr ExprEmitter::LaneByLane(DataType type, const std::function<sem::ExprPtr()>& emit) {
  const int lanes = vector_.lanes;
  const bool is_bool = type == DataType::kBool;
  const DataType held = is_bool ? DataType::kInt32 : type;
  const std::string name = NewName();
  block_->push_back(sem::MakeArray({held, 1}, name, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    sem::ExprPtr value = AtFirstLane(emit);
    if (is_bool) value = sem::Select(value, sem::Int(1), sem::Int(0));
    block_->push_back(sem::MakeStore(name, held, indices_.Number(lane), std::move(value)));
    ++position_[vector_.index];
  }
  position_[vector_.index] -= lanes;
  sem::ExprPtr vector = sem::LoadFrom(name, held, indices_.Number(0), lanes);
  if (!is_bool) return vector;
  return sem::ApplyOp(ScalarOp::kNotEqual, {std::move(vector), sem::Int(0)});
}

}  // namespace tartan::lower
