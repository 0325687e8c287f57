// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/typed_expr.h"

#include <algorithm>

namespace tartan::poly {

ExprPtr RoundTo(const ExprPtr& expr, DataType type) {
  if (ComputeType(type) == type) return expr;
  return Convert(MakeApply(ScalarOp::kCast, type, {expr}), type);
}

ExprPtr WithoutRounding(const ExprPtr& expr, DataType type) {
  const auto* widened = std::get_if<Apply>(&expr->node);
  if (widened == nullptr || widened->op != ScalarOp::kCast) return expr;
  const auto* rounded = std::get_if<Apply>(&widened->operands[0]->node);
  const bool is_rounded =
      rounded != nullptr && widened->operands[0]->type == type && ComputeType(type) != type;
  return is_rounded ? rounded->operands[0] : expr;
}

ExprPtr Zero(DataType type) {
  return Convert(MakeExpr(DataType::kInt32, Literal{int64_t{0}}), type);
}

DataType CoordinateType(const TensorShape& shape) {
  return shape.element_count() < (int64_t{1} << 31) ? DataType::kInt32 : DataType::kInt64;
}

ExprPtr WrapIndex(const ExprPtr& index, int64_t size, DataType type) {
  DataType from = index->type;
  if (from == DataType::kUInt64) from = DataType::kInt64;
  if (IsSignedInteger(from) && size > MaxInteger(from)) {
    from = size > MaxInteger(DataType::kInt32) ? DataType::kInt64 : DataType::kInt32;
  }
  const ExprPtr zero = MakeNumber(0, from);
  const auto limit = [from](int64_t n) {
    return Convert(MakeExpr(DataType::kInt64, Literal{n, /*is_size=*/true}), from);
  };
  ExprPtr wrapped = Convert(index, from);
  if (!IsUnsignedInteger(from)) {
    const ExprPtr negative = MakeApply(ScalarOp::kLess, DataType::kBool, {wrapped, zero});
    const ExprPtr shifted = MakeApply(ScalarOp::kAdd, from, {wrapped, limit(size)});
    wrapped = MakeApply(ScalarOp::kSelect, from, {negative, shifted, wrapped});
    wrapped = MakeApply(ScalarOp::kMax, from, {wrapped, zero});
  }
  // If the size exceeds the index type's range, no upper clamp is needed.
  if (size - 1 < MaxInteger(from)) {
    wrapped = MakeApply(ScalarOp::kMin, from, {wrapped, limit(std::max<int64_t>(size - 1, 0))});
  }
  return Convert(wrapped, type);
}

}  // namespace tartan::poly
