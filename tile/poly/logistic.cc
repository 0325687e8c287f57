// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/logistic.h"

#include <utility>

namespace tartan::poly {
namespace {

bool IsOne(const ExprPtr& expr) {
  const auto* literal = std::get_if<Literal>(&expr->node);
  if (literal == nullptr) return false;
  const auto* real = std::get_if<double>(&literal->value);
  return real != nullptr && *real == 1;
}

// Returns the operands of `expr` if it is this operation, else null.
const std::vector<ExprPtr>* OperandsOf(const ExprPtr& expr, ScalarOp op) {
  const auto* apply = std::get_if<Apply>(&expr->node);
  return apply != nullptr && apply->op == op ? &apply->operands : nullptr;
}

}  // namespace

ExprPtr WithLogisticFunction(ExprPtr expr) {
  if (expr->type != DataType::kFloat32) return expr;
  const std::vector<ExprPtr>* quotient = OperandsOf(expr, ScalarOp::kDiv);
  if (quotient == nullptr) return expr;
  const std::vector<ExprPtr>* sum = OperandsOf((*quotient)[1], ScalarOp::kAdd);
  if (sum == nullptr) return expr;
  const int one = IsOne((*sum)[0]) ? 0 : 1;
  if (!IsOne((*sum)[one])) return expr;
  const std::vector<ExprPtr>* power = OperandsOf((*sum)[1 - one], ScalarOp::kExp);
  if (power == nullptr) return expr;
  const std::vector<ExprPtr>* negated = OperandsOf((*power)[0], ScalarOp::kNeg);
  if (negated == nullptr) return expr;
  ExprPtr sigmoid = MakeApply(ScalarOp::kSigmoid, expr->type, *negated);
  if (IsOne((*quotient)[0])) return sigmoid;
  return MakeApply(ScalarOp::kMul, expr->type, {(*quotient)[0], std::move(sigmoid)});
}

}  // namespace tartan::poly
