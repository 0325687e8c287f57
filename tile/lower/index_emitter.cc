#include "tile/lower/index_emitter.h"

#include "tile/poly/coords.h"

namespace tartan::lower {

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

}  // namespace tartan::lower
