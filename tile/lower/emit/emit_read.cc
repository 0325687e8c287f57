// SPDX-License-Identifier: Apache-2.0
// The part of ExprEmitter that emits reads: vectors, transposed square blocks, lane by lane, from
// staged arrays, and from values that other positions of the tile have loaded.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/plan/machine.h"
#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {

bool ExprEmitter::IsAligned(const math::Affine& flat) const {
  if (!lanes_are_aligned_ || !(flat.constant.numerator() % vector_.lanes == 0)) return false;
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
    if (i != vector_.index && flat.coefficient(i).numerator() % vector_.lanes != 0) return false;
  }
  return true;
}

bool ExprEmitter::IsSliding(int access) {
  // Positions that share an element depend on the strides, which differ at other sizes.
  if (indices_.has_size_arguments()) return false;
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

loop::ExprPtr ExprEmitter::EmitSliding(const poly::ExprPtr& expr, int access) {
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
  const loop::ExprPtr value = Name(EmitRead(expr, read));
  places_.emplace(std::move(key), value);
  return value;
}

loop::ExprPtr ExprEmitter::EmitRead(const poly::ExprPtr& expr, const poly::TensorAccess& access) {
  math::Affine flat;
  const std::vector<int64_t> strides = RowMajorStrides(flat_.tensors[access.tensor].shape.dims);
  for (size_t d = 0; d < strides.size(); ++d) flat = flat + access.coords[d] * strides[d];
  const std::vector<math::RangeConstraint> guard = Unproven(access.guard);
  const auto emit = [&](int lanes, int64_t offset = 0) {
    const math::Affine shifted = flat + math::Affine::Constant(ShiftAt(flat, position_) + offset);
    return Load(access.tensor, indices_.Emit(flat, position_, offset), lanes, guard,
                lanes > 1 && IsAligned(shifted));
  };
  if (!VariesByLane(DependenceOf(expr))) return emit(1);
  const bool together =
      expr->type != DataType::kBool && !VaryByLane(guard) && HasVector(access.tensor, guard);
  const math::Rational stride = flat.coefficient(vector_.index);
  if (together && stride == math::Rational(1)) {
    // GPUs load unaligned vectors element by element. Explicit scalar loads let overlapping vectors
    // share them.
    const math::Affine first = flat + math::Affine::Constant(ShiftAt(flat, position_));
    if (!lanes_are_aligned_ || IsAligned(first)) return emit(vector_.lanes);
    const std::string name = NewName();
    std::vector<loop::ExprPtr> elements;
    for (int lane = 0; lane < vector_.lanes; ++lane) elements.push_back(Name(emit(1, lane)));
    block_->push_back(loop::MakeArray({expr->type, 1}, name, vector_.lanes));
    for (int lane = 0; lane < vector_.lanes; ++lane) {
      block_->push_back(
          loop::MakeStore(name, expr->type, indices_.Number(lane), std::move(elements[lane])));
    }
    return loop::LoadFrom(name, expr->type, indices_.Number(0), vector_.lanes);
  }
  // Stride 2. GPUs load elements one by one instead.
  if (together && stride == math::Rational(2) && vector_.lanes >= plan::cpu::kWideLanes) {
    const int lanes = vector_.lanes;
    // Pairs begin at even addresses: if one element exists, both do; adjacent reads share the
    // loads, and vectors rarely cross a cache line. Otherwise two vectors overlap in one element,
    // so that nothing is read past the last one.
    const std::optional<int> second = PlaceInPair(flat, access.tensor);
    const int begin = second.value_or(0);
    const loop::ExprPtr low = Name(emit(lanes, -begin));
    const loop::ExprPtr high = Name(emit(lanes, second ? lanes - begin : lanes - 1));
    std::vector<int> chosen;
    for (int i = 0; i < lanes; ++i) {
      chosen.push_back(2 * i + (second ? begin : 2 * i < lanes ? 0 : 1));
    }
    return loop::MakeShuffle(low, high, chosen);
  }
  if (const int row = TransposedIndex(expr, flat, access); row >= 0) {
    return EmitTransposed(expr, flat, row);
  }
  return LaneByLane(expr->type, [&] { return emit(1); });
}

std::optional<int> ExprEmitter::PlaceInPair(const math::Affine& flat, int tensor) const {
  if (indices_.has_size_arguments() || flat_.tensors[tensor].shape.element_count() % 2 != 0) {
    return std::nullopt;
  }
  int64_t place = flat.constant.numerator() + ShiftAt(flat, position_);
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
    const int64_t coefficient = flat.coefficient(i).numerator();
    if (coefficient % 2 == 0) continue;
    const auto value = loop::LiteralValue(indices_.value(i));
    if (!value) return std::nullopt;
    place += coefficient * *value;
  }
  return place % 2 == 0 ? 0 : 1;
}

loop::ExprPtr ExprEmitter::EmitStaged(const StagedRead& read) const {
  const int64_t shift = ShiftAt(read.tile, position_) + ShiftAt(read.loops, position_);
  const math::Affine loops = read.loops + math::Affine::Constant(shift);
  return loop::LoadFrom(read.array, read.type, loop::Add(read.base, indices_.Emit(loops)),
                        VariesByLane(DependenceOf(read.tile)) ? vector_.lanes : 1);
}

int ExprEmitter::TransposedIndex(const poly::ExprPtr& expr, const math::Affine& flat,
                                 const poly::TensorAccess& access) {
  if (tile_sizes_.empty() || expr->type == DataType::kBool) return -1;
  const Dependence guard = DependenceOf(Unproven(access.guard));
  if (VariesByLane(guard)) return -1;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    const bool is_whole = i != vector_.index && tile_sizes_[i] % vector_.lanes == 0;
    if (is_whole && flat.coefficient(i) == math::Rational(1) && (guard & BitOf(i)) == 0) return i;
  }
  return -1;
}

loop::ExprPtr ExprEmitter::EmitTransposed(const poly::ExprPtr& expr, const math::Affine& flat,
                                          int row) {
  const auto& access = flat_.accesses[std::get<poly::Read>(expr->node).access];
  const int lanes = vector_.lanes;
  const int64_t line = position_[row] % lanes;
  const Position saved = position_;
  position_[row] -= line;
  std::vector<loop::ExprPtr>& square = squares_[{expr.get(), position_}];
  if (square.empty()) {
    for (int i = 0; i < lanes; ++i) {
      square.push_back(
          Name(Load(access.tensor, indices_.Emit(flat, position_), lanes, Unproven(access.guard))));
      ++position_[vector_.index];
    }
    // Transposes the square by swapping blocks of decreasing size.
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      std::vector<int> low, high;
      for (int i = 0; i < lanes; ++i) {
        const bool is_first = (i & distance) == 0;
        low.push_back(is_first ? i : lanes + i - distance);
        high.push_back(is_first ? i + distance : lanes + i);
      }
      for (int i = 0; i < lanes; ++i) {
        if ((i & distance) != 0) continue;
        const loop::ExprPtr a = square[i];
        const loop::ExprPtr b = square[i + distance];
        square[i] = Name(loop::MakeShuffle(a, b, low));
        square[i + distance] = Name(loop::MakeShuffle(a, b, high));
      }
    }
  }
  position_ = saved;
  return square[line];
}

loop::ExprPtr ExprEmitter::Load(int tensor, loop::ExprPtr index, int lanes,
                                const std::vector<math::RangeConstraint>& guard, bool is_aligned) {
  // If the guard fails, the first elements are read instead, so that a load is never out of bounds.
  if (const loop::ExprPtr condition = EmitConditions(guard); condition != nullptr) {
    index = loop::Select(condition, index, indices_.Number(0));
  }
  return loop::LoadFrom(absl::StrCat("in", tensor), flat_.tensors[tensor].shape.type,
                        std::move(index), lanes, is_aligned);
}

bool ExprEmitter::HasVector(int tensor, const std::vector<math::RangeConstraint>& guard) const {
  // The tensor may be smaller at other sizes; without a guard the tile is always inside the tensor.
  if (indices_.has_size_arguments() && guard.empty()) return true;
  return flat_.tensors[tensor].shape.element_count() >= vector_.lanes;
}

bool ExprEmitter::IsContiguous(const poly::ReadAt& read) {
  const std::vector<math::RangeConstraint> guard = Unproven(read.guard);
  if (VaryByLane(guard)) return false;
  const TensorShape& shape = flat_.tensors[read.tensor].shape;
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims);
  int64_t step = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (!VariesByLane(DependenceOf(read.coordinates[d]))) continue;
    const auto* coordinate = std::get_if<poly::Coordinate>(&read.coordinates[d]->node);
    if (coordinate == nullptr) return false;
    step += coordinate->poly.coefficient(vector_.index).numerator() * strides[d];
  }
  return step == 1 && HasVector(read.tensor, guard);
}

loop::ExprPtr ExprEmitter::EmitReadAt(const poly::ExprPtr& expr, const poly::ReadAt& read) {
  const std::vector<int64_t> strides = RowMajorStrides(flat_.tensors[read.tensor].shape.dims);
  const auto emit = [&](int lanes) {
    loop::ExprPtr index = indices_.Number(0);
    for (size_t d = 0; d < strides.size(); ++d) {
      const loop::ExprPtr coordinate =
          loop::Cast(AtFirstLane([&] { return Emit(read.coordinates[d]); }), indices_.index_type());
      const loop::ExprPtr stride =
          strides[d] == 1
              ? indices_.Number(1)
              : indices_.Size(absl::StrCat("stride of ", read.tensor, " ", d), strides[d]);
      index = loop::Add(index, loop::Mul(coordinate, stride));
    }
    return Load(read.tensor, std::move(index), lanes, Unproven(read.guard));
  };
  if (!VariesByLane(DependenceOf(expr))) return emit(1);
  if (IsContiguous(read) && expr->type != DataType::kBool) return emit(vector_.lanes);
  return LaneByLane(expr->type, [&] { return emit(1); });
}

loop::ExprPtr ExprEmitter::AtFirstLane(const std::function<loop::ExprPtr()>& emit) {
  const int lanes = std::exchange(vector_.lanes, 1);
  loop::ExprPtr value = emit();
  vector_.lanes = lanes;
  return value;
}

loop::ExprPtr ExprEmitter::LaneByLane(DataType type, const std::function<loop::ExprPtr()>& emit) {
  const int lanes = vector_.lanes;
  const bool is_bool = type == DataType::kBool;
  const DataType held = is_bool ? DataType::kInt32 : type;
  const std::string name = NewName();
  block_->push_back(loop::MakeArray({held, 1}, name, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    lane_ = lane;
    loop::ExprPtr value = AtFirstLane(emit);
    if (is_bool) value = loop::Select(value, loop::Int(1), loop::Int(0));
    block_->push_back(loop::MakeStore(name, held, indices_.Number(lane), std::move(value)));
    ++position_[vector_.index];
  }
  position_[vector_.index] -= lanes;
  loop::ExprPtr vector = loop::LoadFrom(name, held, indices_.Number(0), lanes);
  if (!is_bool) return vector;
  return loop::ApplyOp(ScalarOp::kNotEqual, {std::move(vector), loop::Int(0)});
}

std::map<int, loop::ExprPtr> ExprEmitter::DeclareReads() {
  std::map<int, loop::ExprPtr> ahead;
  for (int a = 0; a < static_cast<int>(flat_.accesses.size()); ++a) {
    if (!flat_.accesses[a].guard.empty()) continue;
    for (const poly::Output& output : flat_.outputs) {
      const poly::ExprPtr read = poly::FindRead(output.expr, a);
      if (read == nullptr) continue;
      const loop::ExprPtr value = Emit(read);
      const std::string name = absl::StrCat("in", a, "_ahead");
      block_->push_back(loop::MakeDeclare(value->type, name, value));
      ahead.emplace(a, loop::Var(name, value->type));
      break;
    }
  }
  return ahead;
}

}  // namespace tartan::lower
