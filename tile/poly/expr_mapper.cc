// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/expr_mapper.h"

#include <utility>

#include "tile/base/match.h"

namespace tartan::poly {

std::vector<math::RangeConstraint> MapConstraints(
    std::vector<math::RangeConstraint> constraints,
    const std::function<math::Affine(const math::Affine&)>& map) {
  for (math::RangeConstraint& constraint : constraints) constraint.poly = map(constraint.poly);
  return constraints;
}

ExprPtr ExprMapper::Map(const ExprPtr& expr) {
  if (expr == nullptr) return nullptr;
  if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
  ExprPtr mapped = Match(
      expr->node,
      [&](const Apply& apply) {
        return MakeExpr(expr->type, Apply{apply.op, MapAll(apply.operands)});
      },
      [&](const ReadAt& read) {
        return MakeExpr(expr->type, ReadAt{parts_.tensor(read.tensor), MapAll(read.coordinates),
                                           MapConstraints(read.guard, parts_.poly)});
      },
      [&](const Choice& choice) {
        return MakeExpr(expr->type, Choice{parts_.poly(choice.poly), MapAll(choice.values)});
      },
      [&](const auto&) { return parts_.leaf(expr); });
  done_.emplace(expr.get(), mapped);
  return mapped;
}

std::vector<ExprPtr> ExprMapper::MapAll(std::vector<ExprPtr> exprs) {
  for (ExprPtr& expr : exprs) expr = Map(expr);
  return exprs;
}

}  // namespace tartan::poly
