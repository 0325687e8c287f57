// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "tile/autodiff/rules.h"

namespace tartan::autodiff {
namespace {

// Derivative of y = f(x), given the gradient g of y. kNoValue for piecewise constant functions.
ValueId UnaryGradient(Emitter& e, ScalarOp op, ValueId x, ValueId y, ValueId g) {
  const auto one = [&] { return e.Integer(1); };
  const auto square = [&](ValueId a) { return e.Mul(a, a); };
  // 1 - x², without cancellation near 1.
  const auto one_minus_square = [&](ValueId a) { return e.Mul(e.Sub(one(), a), e.Add(one(), a)); };
  const auto sqrt = [&](ValueId a) { return e.Apply(ScalarOp::kSqrt, a); };
  switch (op) {
    case ScalarOp::kIdentity:
    case ScalarOp::kCast:
      return g;
    case ScalarOp::kNeg:
      return e.Neg(g);
    case ScalarOp::kAbs:
      return e.Mul(g, e.Apply(ScalarOp::kSign, x));
    case ScalarOp::kSqrt:
      return e.Div(g, e.Mul(e.Integer(2), y));
    case ScalarOp::kRecip:
      return e.Neg(e.Mul(g, square(y)));
    case ScalarOp::kExp:
      return e.Mul(g, y);
    case ScalarOp::kExpm1:
      return e.Mul(g, e.Apply(ScalarOp::kExp, x));
    case ScalarOp::kLog:
      return e.Div(g, x);
    case ScalarOp::kLog1p:
      return e.Div(g, e.Add(x, one()));
    case ScalarOp::kSin:
      return e.Mul(g, e.Apply(ScalarOp::kCos, x));
    case ScalarOp::kCos:
      return e.Neg(e.Mul(g, e.Apply(ScalarOp::kSin, x)));
    case ScalarOp::kTan:
      return e.Mul(g, e.Add(square(y), one()));
    case ScalarOp::kAsin:
      return e.Div(g, sqrt(one_minus_square(x)));
    case ScalarOp::kAcos:
      return e.Neg(e.Div(g, sqrt(one_minus_square(x))));
    case ScalarOp::kAtan:
      return e.Div(g, e.Add(square(x), one()));
    case ScalarOp::kSinh:
      return e.Mul(g, e.Apply(ScalarOp::kCosh, x));
    case ScalarOp::kCosh:
      return e.Mul(g, e.Apply(ScalarOp::kSinh, x));
    case ScalarOp::kTanh:
      return e.Mul(g, one_minus_square(y));
    case ScalarOp::kAsinh:
      return e.Div(g, sqrt(e.Add(square(x), one())));
    case ScalarOp::kAcosh:
      return e.Div(g, sqrt(e.Mul(e.Sub(x, one()), e.Add(x, one()))));
    case ScalarOp::kAtanh:
      return e.Div(g, one_minus_square(x));
    case ScalarOp::kErf: {
      const ValueId bell = e.Apply(ScalarOp::kExp, e.Neg(square(x)));
      return e.Mul(g, e.Mul(e.Number(2 * std::numbers::inv_sqrtpi), bell));
    }
    case ScalarOp::kSigmoid:
      return e.Mul(g, e.Mul(y, e.Sub(one(), y)));
    case ScalarOp::kRelu:
      return e.Where(e.Apply(ScalarOp::kGreater, {y, e.Integer(0)}), g);  // x need not be kept
    default:
      return ir::kNoValue;
  }
}

// Returns b * pow(a, b - 1), which is 0 for b == 0 and any a.
ValueId PowerByBase(Emitter& e, ValueId a, ValueId b) {
  const ValueId less = e.Select(e.Equal(b, e.Integer(0)), e.Integer(1), e.Sub(b, e.Integer(1)));
  return e.Mul(b, e.Apply(ScalarOp::kPow, {a, less}));
}

// Returns y * log(a), and 0 for nonpositive bases, for which y is not differentiable in b.
ValueId PowerByExponent(Emitter& e, ValueId a, ValueId y) {
  const ValueId positive = e.Apply(ScalarOp::kGreater, {a, e.Integer(0)});
  const ValueId log = e.Apply(ScalarOp::kLog, e.Select(positive, a, e.Integer(1)));
  return e.Where(positive, e.Mul(y, log));
}

// Returns the integer n in y = a - n * b.
ValueId Quotient(Emitter& e, ValueId a, ValueId b, ValueId y) {
  return e.Apply(ScalarOp::kRound, e.Div(e.Sub(a, y), b));
}

// Returns the derivative of max or min with respect to the operand `mine` at `position`. `wins`
// compares it with the other operand.
ValueId ExtremumPart(Emitter& e, ScalarOp wins, ValueId mine, ValueId other, int position,
                     const Site& site) {
  const ValueId g = site.gradient;
  const ValueId won = e.Apply(wins, {mine, other});
  const ValueId tied = e.Equal(mine, other);
  // A quantized value is often at the ends of its range, and counts as inside there. An operand
  // without a gradient is such an end.
  const bool is_limited = site.straight_through && !site.wanted[1 - position];
  if (site.ties == Ties::kShare && !is_limited) {
    return e.Select(won, g, e.Where(tied, e.Mul(g, e.Number(0.5))));
  }
  const bool wins_ties = is_limited || position == 0;
  return e.Where(wins_ties ? e.Apply(ScalarOp::kLogicalOr, {won, tied}) : won, g);
}

// Derivative of y = f(a, b) with respect to the operand at `position`.
ValueId BinaryGradient(Emitter& e, ScalarOp op, ValueId a, ValueId b, int position,
                       const Site& site) {
  const ValueId y = site.value;
  const ValueId g = site.gradient;
  const bool by_a = position == 0;
  switch (op) {
    case ScalarOp::kAdd:
      return g;
    case ScalarOp::kSub:
      return by_a ? g : e.Neg(g);
    case ScalarOp::kMul:
      return e.Mul(g, by_a ? b : a);
    case ScalarOp::kDiv:
      if (by_a) return e.Div(g, b);
      // Sums first, so that elements with a common divisor need one division.
      return e.Neg(e.Div(e.SumTo(e.Mul(g, y), {e.type(y), e.shape(b).dims}), b));
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return by_a ? g : e.Neg(e.Mul(g, Quotient(e, a, b, y)));
    case ScalarOp::kPow:
      return e.Mul(g, by_a ? PowerByBase(e, a, b) : PowerByExponent(e, a, y));
    case ScalarOp::kAtan2: {
      const ValueId scaled = e.Div(g, e.Add(e.Mul(a, a), e.Mul(b, b)));
      return by_a ? e.Mul(scaled, b) : e.Neg(e.Mul(scaled, a));
    }
    case ScalarOp::kMax:
    case ScalarOp::kMin: {
      const ScalarOp wins = op == ScalarOp::kMax ? ScalarOp::kGreater : ScalarOp::kLess;
      return ExtremumPart(e, wins, by_a ? a : b, by_a ? b : a, position, site);
    }
    default:
      return ir::kNoValue;
  }
}

}  // namespace

bool IsRounding(ScalarOp op) {
  return op == ScalarOp::kRound || op == ScalarOp::kFloor || op == ScalarOp::kCeil ||
         op == ScalarOp::kTrunc;
}

Parts ElementwiseGradient(Emitter& emit, const ir::Elementwise& op, const Site& site) {
  Parts parts(op.operands.size(), ir::kNoValue);
  // Operands that are no floats are converted to the computation type, so that no rule handles
  // integers.
  std::vector<ValueId> x = op.operands;
  if (op.op == ScalarOp::kSelect) {
    if (site.wanted[1]) parts[1] = emit.Where(x[0], site.gradient);
    if (site.wanted[2]) parts[2] = emit.Select(x[0], emit.Integer(0), site.gradient);
    return parts;
  }
  const DataType type = emit.type(site.gradient);
  for (ValueId& operand : x) {
    if (!IsFloat(emit.type(operand))) operand = emit.Cast(operand, type);
  }
  Site floats = site;
  if (!IsFloat(emit.type(site.value))) floats.value = emit.Cast(site.value, type);
  if (x.size() == 1) {
    parts[0] = site.straight_through && IsRounding(op.op)
                   ? site.gradient
                   : UnaryGradient(emit, op.op, x[0], floats.value, site.gradient);
    return parts;
  }
  for (int i = 0; i < 2; ++i) {
    if (site.wanted[i]) parts[i] = BinaryGradient(emit, op.op, x[0], x[1], i, floats);
  }
  return parts;
}

}  // namespace tartan::autodiff
