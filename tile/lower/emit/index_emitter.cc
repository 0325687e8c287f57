// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/emit/index_emitter.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tile/poly/coords.h"

namespace tartan::lower {

namespace {

loop::ExprPtr Sum(const loop::ExprPtr& sum, loop::ExprPtr term) {
  return sum == nullptr ? std::move(term) : loop::Add(sum, std::move(term));
}

// A key of the polynomial's strides: accesses with equal strides share arguments.
std::string StridesOf(const math::Affine& poly, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppend(&text, poly.coefficient(static_cast<int>(i)).numerator(), ",");
  }
  return text;
}

}  // namespace

loop::ExprPtr IndexEmitter::Emit(const math::Affine& poly, const Position& position,
                                 int64_t offset) const {
  if (sizes_ != nullptr) return EmitWithSizes(poly, position, offset);
  loop::ExprPtr sum;
  for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
    const int64_t coefficient = poly.coefficient(i).numerator();
    if (coefficient == 0) continue;
    sum = Sum(sum, loop::Mul(values_[i], Number(coefficient)));
  }
  return Sum(sum, Number(poly.constant.numerator() + ShiftAt(poly, position) + offset));
}

loop::ExprPtr IndexEmitter::EmitWithSizes(const math::Affine& poly, const Position& position,
                                          int64_t offset) const {
  const std::string strides = StridesOf(poly, values_.size());
  loop::ExprPtr sum;
  loop::ExprPtr moved;  // the offset from the tile's first position
  for (size_t i = 0; i < values_.size(); ++i) {
    const int64_t coefficient = poly.coefficient(static_cast<int>(i)).numerator();
    if (coefficient == 0) continue;
    const loop::ExprPtr stride =
        coefficient == 1 ? Number(1)
                         : sizes_->Get(absl::StrCat("stride ", strides, i), coefficient);
    sum = Sum(sum, loop::Mul(values_[i], stride));
    if (i >= position.size() || position[i] == 0) continue;
    const loop::ExprPtr step =
        steps_[i] ? sizes_->Get(absl::StrCat("step ", strides, i), coefficient * *steps_[i])
                  : stride;
    moved = Sum(moved, loop::Mul(step, Number(position[i])));
  }
  const int64_t begin = poly.constant.numerator();
  if (begin != 0) sum = Sum(sum, sizes_->Get(absl::StrCat("begin ", strides, begin), begin));
  if (moved != nullptr) sum = Sum(sum, std::move(moved));
  return Sum(sum, Number(offset));
}

loop::ExprPtr IndexEmitter::EmitCompared(const math::RangeConstraint& constraint,
                                         int64_t shift) const {
  const math::Affine& poly = constraint.poly;
  if (sizes_ == nullptr) return Emit(poly + math::Affine::Constant(shift));
  constexpr int64_t kMaxSteps = 8;  // maximum step of a window; a larger coefficient is a size
  loop::ExprPtr sum;
  const std::string strides = StridesOf(poly, values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const int64_t coefficient = poly.coefficient(static_cast<int>(i)).numerator();
    if (coefficient == 0) continue;
    const bool is_step = std::abs(coefficient) <= kMaxSteps;
    const loop::ExprPtr step =
        is_step ? Number(coefficient)
                : sizes_->Get(absl::StrCat("compared ", strides, i), coefficient);
    sum = Sum(sum, loop::Mul(values_[i], step));
  }
  const int64_t begin = poly.constant.numerator();
  if (begin != 0)
    sum = Sum(sum, sizes_->Get(absl::StrCat("compared ", strides, "+", begin), begin));
  return Sum(sum, Number(shift));
}

loop::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint,
                                      int64_t shift) const {
  return Condition(constraint, EmitCompared(constraint, shift));
}

loop::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint,
                                      const loop::ExprPtr& value) const {
  const auto [least, greatest] = poly::ValueRange(constraint.poly, flat_.indices);
  loop::ExprPtr condition;
  if (least < 0) condition = loop::ApplyOp(ScalarOp::kGreaterEqual, {value, Number(0)});
  if (greatest >= constraint.range) {
    const std::string role = absl::StrCat("compared ", StridesOf(constraint.poly, values_.size()),
                                          "<", constraint.range);
    const loop::ExprPtr below = loop::Less(value, Size(role, constraint.range));
    condition = condition == nullptr ? below : loop::And(condition, below);
  }
  return condition;
}

loop::ExprPtr IndexEmitter::HoldsAcross(const std::vector<math::RangeConstraint>& constraints,
                                        const Position& last) const {
  loop::ExprPtr all = loop::Bool(true);
  for (const math::RangeConstraint& constraint : constraints) {
    // minimum and maximum of the polynomial, relative to the current point
    int64_t below = 0;
    int64_t above = 0;
    for (size_t i = 0; i < last.size(); ++i) {
      const int64_t reach = constraint.poly.coefficient(static_cast<int>(i)).numerator() * last[i];
      (reach < 0 ? below : above) += reach;
    }
    for (int64_t shift : {below, above}) {
      const loop::ExprPtr condition = Condition(constraint, shift);
      if (condition != nullptr) all = loop::And(all, condition);
      if (below == above) break;
    }
  }
  return all;
}

int64_t ShiftAt(const math::Affine& poly, const Position& position) {
  int64_t shift = 0;
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] != 0) shift += poly.coefficient(static_cast<int>(i)).numerator() * position[i];
  }
  return shift;
}

bool NeedsWideIndices(const poly::FlatContraction& flat) {
  const int64_t limit = int64_t{1} << 31;
  bool wide = TensorShape{DataType::kBool, flat.output_dims}.element_count() >= limit ||
              flat.output_point_count() >= limit;
  for (const poly::Tensor& tensor : flat.tensors) {
    wide |= tensor.shape.element_count() >= limit;
  }
  return wide;
}

}  // namespace tartan::lower
