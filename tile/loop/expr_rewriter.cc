// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/expr_rewriter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tile/base/match.h"
#include "tile/base/scalar_value.h"
#include "tile/loop/build.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

using Wide = __int128;

bool HasRange(const Type& type) {
  return type.lanes == 1 && (type.element == DataType::kInt32 || type.element == DataType::kInt64);
}

bool IsLiteral(const ExprPtr& expr) {
  return std::holds_alternative<IntLiteral>(expr->node) ||
         std::holds_alternative<FloatLiteral>(expr->node);
}

Scalar LiteralScalar(const ExprPtr& expr) {
  if (const auto* literal = std::get_if<IntLiteral>(&expr->node)) return {literal->value, 0};
  return {0, std::get<FloatLiteral>(expr->node).value};
}

template <class Node>
ExprPtr Make(const Type& type, Node node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

ExprPtr MakeLiteral(const Type& type, const Scalar& value) {
  return IsFloat(type.element) ? Make(type, FloatLiteral{value.real})
                               : Make(type, IntLiteral{value.integer});
}

// The bounds if they fit the type; otherwise the full range, because arithmetic may wrap to any
// value.
Range Fitting(Wide least, Wide greatest, DataType type) {
  const Range full = FullRange(type);
  if (least < full.least || greatest > full.greatest) return full;
  return {static_cast<int64_t>(least), static_cast<int64_t>(greatest)};
}

Range ProductRange(const Range& a, const Range& b, DataType type) {
  const Wide corners[] = {Wide{a.least} * b.least, Wide{a.least} * b.greatest,
                          Wide{a.greatest} * b.least, Wide{a.greatest} * b.greatest};
  return Fitting(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4),
                 type);
}

// The result of a comparison, if the ranges decide it.
std::optional<bool> Decide(ScalarOp op, const Range& a, const Range& b) {
  const auto below = [](const Range& x, const Range& y) -> std::optional<bool> {  // x < y
    if (x.greatest < y.least) return true;
    if (x.least >= y.greatest) return false;
    return std::nullopt;
  };
  const auto negated = [](std::optional<bool> x) { return x ? std::optional<bool>(!*x) : x; };
  const bool disjoint = a.greatest < b.least || b.greatest < a.least;
  switch (op) {
    case ScalarOp::kLess:
      return below(a, b);
    case ScalarOp::kGreater:
      return below(b, a);
    case ScalarOp::kLessEqual:
      return negated(below(b, a));
    case ScalarOp::kGreaterEqual:
      return negated(below(a, b));
    case ScalarOp::kEqual:
      return disjoint ? std::optional<bool>(false) : std::nullopt;
    case ScalarOp::kNotEqual:
      return disjoint ? std::optional<bool>(true) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Float identities that also hold for NaN, infinities and signed zeros.
ExprPtr ApplyFloatIdentity(const Apply& apply) {
  if (apply.operands.size() != 2) return nullptr;
  const auto is = [&](int i, double value) {
    const auto* literal = std::get_if<FloatLiteral>(&apply.operands[i]->node);
    return literal != nullptr && literal->value == value &&
           std::signbit(literal->value) == std::signbit(value);
  };
  switch (apply.op) {
    case ScalarOp::kAdd:
      if (is(1, -0.0)) return apply.operands[0];
      if (is(0, -0.0)) return apply.operands[1];
      break;
    case ScalarOp::kSub:
      if (is(1, 0.0)) return apply.operands[0];
      break;
    case ScalarOp::kMul:
      if (is(1, 1)) return apply.operands[0];
      if (is(0, 1)) return apply.operands[1];
      break;
    case ScalarOp::kDiv:
      if (is(1, 1)) return apply.operands[0];
      break;
    default:
      break;
  }
  return nullptr;
}

// The negated comparison of integers; kIdentity for other operations.
ScalarOp Opposite(ScalarOp op) {
  switch (op) {
    case ScalarOp::kEqual:
      return ScalarOp::kNotEqual;
    case ScalarOp::kNotEqual:
      return ScalarOp::kEqual;
    case ScalarOp::kLess:
      return ScalarOp::kGreaterEqual;
    case ScalarOp::kLessEqual:
      return ScalarOp::kGreater;
    case ScalarOp::kGreater:
      return ScalarOp::kLessEqual;
    case ScalarOp::kGreaterEqual:
      return ScalarOp::kLess;
    default:
      return ScalarOp::kIdentity;
  }
}

// not not x → x; not (a < b) → a >= b for integers (for floats, NaN satisfies neither).
ExprPtr ImproveNot(const Apply& apply) {
  const auto* inner = std::get_if<Apply>(&apply.operands[0]->node);
  if (inner == nullptr) return nullptr;
  if (inner->op == ScalarOp::kLogicalNot) return inner->operands[0];
  const ScalarOp opposite = Opposite(inner->op);
  if (opposite == ScalarOp::kIdentity || !IsInteger(inner->operands[0]->type.element)) {
    return nullptr;
  }
  return ApplyOp(opposite, inner->operands);
}

// The terms of a sum, innermost first; an expression that is not a sum is one term.
void CollectTerms(const ExprPtr& expr, std::vector<ExprPtr>* terms) {
  const auto* apply = std::get_if<Apply>(&expr->node);
  if (apply == nullptr || apply->op != ScalarOp::kAdd || terms->size() > 16) {
    terms->push_back(expr);
    return;
  }
  CollectTerms(apply->operands[0], terms);
  CollectTerms(apply->operands[1], terms);
}

// The term divided by `divisor` if it is a constant multiple of it; else null.
ExprPtr Divided(const ExprPtr& term, int64_t divisor) {
  if (const auto value = LiteralValue(term)) {
    return *value % divisor == 0 ? Int(*value / divisor, term->type.element) : nullptr;
  }
  const auto* apply = std::get_if<Apply>(&term->node);
  if (apply == nullptr || apply->op != ScalarOp::kMul) return nullptr;
  const auto factor = LiteralValue(apply->operands[1]);
  if (!factor || *factor % divisor != 0) return nullptr;
  return Mul(apply->operands[0], Int(*factor / divisor, term->type.element));
}

// The rebuilt node, or `expr` if it is unchanged.
ExprPtr KeepIfSame(const ExprPtr& expr, const Apply& old, ExprPtr built) {
  const auto* apply = std::get_if<Apply>(&built->node);
  const bool same = apply != nullptr && apply->op == old.op && apply->operands == old.operands &&
                    built->type == expr->type;
  return same ? expr : built;
}

}  // namespace

Range FullRange(DataType type) { return {MinInteger(type), MaxInteger(type)}; }

void ExprRewriter::Bind(const std::string& name, Binding binding) {
  bindings_[name] = std::move(binding);
}

const Binding* ExprRewriter::Find(const std::string& name) const {
  const auto found = bindings_.find(name);
  return found == bindings_.end() ? nullptr : &found->second;
}

void ExprRewriter::ForgetRoot() {
  rewritten_.clear();
  ranges_.clear();
  alive_.clear();
}

ExprPtr ExprRewriter::Rewrite(const ExprPtr& expr) {
  ForgetRoot();
  return RewriteNode(expr);
}

ExprPtr ExprRewriter::RewriteNode(const ExprPtr& expr) {
  const auto found = rewritten_.find(expr.get());
  if (found != rewritten_.end()) return found->second;
  ExprPtr result = Improve(RewriteInner(expr));
  rewritten_[expr.get()] = result;
  alive_.push_back(expr);
  return result;
}

// Rewrites operands, replaces variables, folds constants.
ExprPtr ExprRewriter::RewriteInner(const ExprPtr& expr) {
  if (const auto* variable = std::get_if<Variable>(&expr->node)) {
    const Binding* binding = Find(variable->name);
    return binding != nullptr && binding->replacement != nullptr ? binding->replacement : expr;
  }
  if (const auto* apply = std::get_if<Apply>(&expr->node)) return RewriteApply(expr, *apply);
  ExprPtr result = MapChildren(expr, [&](const ExprPtr& child) { return RewriteNode(child); });
  if (const auto* sum = std::get_if<MultiplyAdd>(&result->node)) {
    return IsFloat(expr->type.element) ? result : Add(sum->accumulator, Mul(sum->a, sum->b));
  }
  if (const auto* lane = std::get_if<Lane>(&result->node)) {
    if (IsLiteral(lane->vector)) return MakeLiteral(expr->type, LiteralScalar(lane->vector));
    const auto* splat = std::get_if<Apply>(&lane->vector->node);
    if (splat != nullptr && splat->op == ScalarOp::kCast &&
        splat->operands[0]->type == expr->type) {
      return splat->operands[0];
    }
  }
  return result;
}

ExprPtr ExprRewriter::RewriteApply(const ExprPtr& expr, const Apply& apply) {
  std::vector<ExprPtr> operands;
  bool all_literal = true;
  for (const ExprPtr& operand : apply.operands) {
    operands.push_back(RewriteNode(operand));
    all_literal = all_literal && IsLiteral(operands.back());
  }
  // A vector condition is not folded: the operands of the comparison determine the width of its
  // mask.
  const bool is_mask = expr->type.element == DataType::kBool && expr->type.lanes > 1;
  if (all_literal && !is_mask) {
    std::vector<Scalar> values;
    for (const ExprPtr& operand : operands) values.push_back(LiteralScalar(operand));
    const DataType from = operands.back()->type.element;
    const Scalar value = apply.op == ScalarOp::kCast
                             ? ConvertScalar(values[0], from, expr->type.element)
                             : EvaluateScalar(apply.op, from, values);
    return MakeLiteral(expr->type, value);
  }
  if (apply.op == ScalarOp::kCast) {
    if (operands[0]->type == expr->type) return operands[0];
    if (operands == apply.operands) return expr;
    return Make(expr->type, Apply{apply.op, std::move(operands)});
  }
  return KeepIfSame(expr, apply, ApplyOp(apply.op, std::move(operands)));
}

// Applies rules to a node whose operands are simplified already.
ExprPtr ExprRewriter::Improve(const ExprPtr& expr) {
  alive_.push_back(expr);
  if (HasRange(expr->type) && !IsLiteral(expr)) {
    const Range range = RangeOf(expr);
    if (range.least == range.greatest) return Int(range.least, expr->type.element);
  }
  const auto* apply = std::get_if<Apply>(&expr->node);
  if (apply == nullptr) return expr;
  ExprPtr better;
  if (IsFloat(expr->type.element)) better = ApplyFloatIdentity(*apply);
  if (apply->op == ScalarOp::kLogicalNot) better = ImproveNot(*apply);
  if (apply->op == ScalarOp::kSelect && Equal(apply->operands[1], apply->operands[2])) {
    better = apply->operands[1];
  }
  if (better == nullptr && apply->operands.size() == 2 && HasRange(apply->operands[0]->type)) {
    better = ImproveByRange(expr, *apply);
  }
  return better == nullptr ? expr : better;
}

ExprPtr ExprRewriter::ImproveByRange(const ExprPtr& expr, const Apply& apply) {
  const ExprPtr& a = apply.operands[0];
  const ExprPtr& b = apply.operands[1];
  const Range left = RangeOf(a);
  const Range right = RangeOf(b);
  if (const auto outcome = Decide(apply.op, left, right)) return Bool(*outcome);
  switch (apply.op) {
    case ScalarOp::kMin:
      if (left.greatest <= right.least) return a;
      if (right.greatest <= left.least) return b;
      return nullptr;
    case ScalarOp::kMax:
      if (left.least >= right.greatest) return a;
      if (right.least >= left.greatest) return b;
      return nullptr;
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return ImproveDivision(expr, apply);
    default:
      return nullptr;
  }
}

// For a non-negative dividend and a positive constant divisor d: terms that are multiples of d
// leave the division if the remaining terms are below d. For example, with 0 <= j < 8: (8 i + j) /
// 8 → i and (8 i + j) % 8 → j. kMod becomes kFmod, which is an operator in C.
ExprPtr ExprRewriter::ImproveDivision(const ExprPtr& expr, const Apply& apply) {
  const auto divisor = LiteralValue(apply.operands[1]);
  const ExprPtr& dividend = apply.operands[0];
  if (!divisor || *divisor < 1 || RangeOf(dividend).least < 0) return nullptr;
  const DataType type = expr->type.element;
  std::vector<ExprPtr> terms;
  CollectTerms(dividend, &terms);
  ExprPtr quotient = Int(0, type);
  ExprPtr rest = Int(0, type);
  for (const ExprPtr& term : terms) {
    const ExprPtr divided = Divided(term, *divisor);
    // Removing a multiple that may be negative or wrap would change where the sum wraps.
    if (divided != nullptr && RangeOf(term).least >= 0) {
      quotient = Add(quotient, divided);
    } else {
      rest = Add(rest, term);
    }
  }
  alive_.push_back(rest);
  const Range range = RangeOf(rest);
  if (range.least >= 0 && range.greatest < *divisor) {
    return apply.op == ScalarOp::kDiv ? quotient : rest;
  }
  return apply.op == ScalarOp::kMod ? Mod(dividend, apply.operands[1]) : nullptr;
}

Range ExprRewriter::RangeOf(const ExprPtr& expr) {
  if (!HasRange(expr->type)) return {};
  const auto found = ranges_.find(expr.get());
  if (found != ranges_.end()) return found->second;
  const Range range = ComputeRange(expr);
  ranges_[expr.get()] = range;
  alive_.push_back(expr);
  return range;
}

Range ExprRewriter::ComputeRange(const ExprPtr& expr) {
  const DataType type = expr->type.element;
  return Match(
      expr->node,
      [](const IntLiteral& literal) {
        return Range{literal.value, literal.value};
      },
      [&](const Variable& variable) {
        const Binding* binding = Find(variable.name);
        return binding == nullptr || binding->is_mutable ? FullRange(type) : binding->range;
      },
      [&](const Apply& apply) { return ComputeApplyRange(apply, expr->type); },
      [&](const WorkIndex& work) {
        const int64_t local = kernel_.local_size[work.dimension];
        // A launch with its own sizes also has its own global size.
        const int64_t most = kernel_.index_type == DataType::kInt32 ? INT32_MAX : INT64_MAX;
        const int64_t global = kernel_.sizes.empty() ? kernel_.global_size[work.dimension] : most;
        const int64_t count = work.id == WorkId::kGlobal  ? global
                              : work.id == WorkId::kGroup ? global / local
                                                          : local;
        return Fitting(0, Wide{count} - 1, type);
      },
      [&](const Load& load) {
        const bool is_narrow = IsInteger(load.stored) && ByteWidth(load.stored) < ByteWidth(type);
        return is_narrow ? FullRange(load.stored) : FullRange(type);
      },
      [&](const auto&) { return FullRange(type); });
}

Range ExprRewriter::ComputeApplyRange(const Apply& apply, const Type& type) {
  const DataType element = type.element;
  const auto range = [&](int i) { return RangeOf(apply.operands[i]); };
  // The divisor if the operation divides by a positive constant; else 0.
  const int64_t divisor = apply.operands.size() == 2
                              ? std::max<int64_t>(0, LiteralValue(apply.operands[1]).value_or(0))
                              : 0;
  switch (apply.op) {
    case ScalarOp::kAdd:
      return Fitting(Wide{range(0).least} + range(1).least,
                     Wide{range(0).greatest} + range(1).greatest, element);
    case ScalarOp::kSub:
      return Fitting(Wide{range(0).least} - range(1).greatest,
                     Wide{range(0).greatest} - range(1).least, element);
    case ScalarOp::kMul:
      return ProductRange(range(0), range(1), element);
    case ScalarOp::kDiv:
      if (divisor == 0) break;
      return {range(0).least / divisor, range(0).greatest / divisor};
    case ScalarOp::kMod:
      if (divisor == 0) break;
      return {0, divisor - 1};
    case ScalarOp::kFmod:
      if (divisor == 0) break;
      return {range(0).least < 0 ? std::max(1 - divisor, range(0).least) : 0,
              std::max<int64_t>(0, std::min(range(0).greatest, divisor - 1))};
    case ScalarOp::kMin:
      return {std::min(range(0).least, range(1).least),
              std::min(range(0).greatest, range(1).greatest)};
    case ScalarOp::kMax:
      return {std::max(range(0).least, range(1).least),
              std::max(range(0).greatest, range(1).greatest)};
    case ScalarOp::kSelect:
      return {std::min(range(1).least, range(2).least),
              std::max(range(1).greatest, range(2).greatest)};
    case ScalarOp::kCast: {
      const Type& from = apply.operands[0]->type;
      if (HasRange(from)) return Fitting(range(0).least, range(0).greatest, element);
      if (from.element == DataType::kBool) return {0, 1};
      if (IsInteger(from.element) && ByteWidth(from.element) < ByteWidth(element)) {
        return FullRange(from.element);
      }
      break;
    }
    default:
      break;
  }
  return FullRange(element);
}

}  // namespace tartan::loop
