// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/index_emitter.h"

#include "tile/poly/coords.h"

namespace tartan::lower {

loop::ExprPtr IndexEmitter::Emit(const math::Affine& poly) const {
  loop::ExprPtr sum;
  for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
    const int64_t coefficient = poly.coefficient(i).numerator();
    if (coefficient == 0) continue;
    loop::ExprPtr term = loop::Mul(values_[i], Number(coefficient));
    sum = sum == nullptr ? term : loop::Add(sum, term);
  }
  const loop::ExprPtr constant = Number(poly.constant.numerator());
  return sum == nullptr ? constant : loop::Add(sum, constant);
}

loop::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint,
                                      int64_t shift) const {
  return Condition(constraint, Emit(constraint.poly + math::Affine::Constant(shift)));
}

loop::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint,
                                      const loop::ExprPtr& value) const {
  const auto [least, greatest] = poly::ValueRange(constraint.poly, flat_.indices);
  loop::ExprPtr condition;
  if (least < 0) condition = loop::ApplyOp(ScalarOp::kGreaterEqual, {value, Number(0)});
  if (greatest >= constraint.range) {
    const loop::ExprPtr below = loop::Less(value, Number(constraint.range));
    condition = condition == nullptr ? below : loop::And(condition, below);
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
