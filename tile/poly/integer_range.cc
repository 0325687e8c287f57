// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/integer_range.h"

#include <algorithm>

#include "tile/base/match.h"

namespace tartan::poly {
namespace {

using math::Interval;

// Returns the interval of a type of up to 16 bits.
std::optional<Interval> RangeOf(DataType type) {
  if (type == DataType::kBool) return Interval{0, 1};
  if (!IsInteger(type) || ByteWidth(type) > 2) return std::nullopt;
  return Interval{MinInteger(type), MaxInteger(type)};
}

Interval Product(const Interval& a, const Interval& b) {
  const auto [min, max] = std::minmax({a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max});
  return {min, max};
}

std::optional<Interval> Combine(ScalarOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case ScalarOp::kAdd:
      return Interval{a.min + b.min, a.max + b.max};
    case ScalarOp::kSub:
      return Interval{a.min - b.max, a.max - b.min};
    case ScalarOp::kMul:
      return Product(a, b);
    case ScalarOp::kMin:
      return Interval{std::min(a.min, b.min), std::min(a.max, b.max)};
    case ScalarOp::kMax:
      return Interval{std::max(a.min, b.min), std::max(a.max, b.max)};
    default:
      return std::nullopt;
  }
}

class Ranges {
 public:
  explicit Ranges(const FlatContraction& flat) : flat_(flat) {}

  // Returns the computed interval if it fits the type, else the interval of the type.
  std::optional<Interval> Of(const ExprPtr& expr) const {
    if (!IsInteger(expr->type) && expr->type != DataType::kBool) return std::nullopt;
    std::optional<Interval> range = Match(
        expr->node,
        [](const Literal& literal) -> std::optional<Interval> {
          const auto* value = std::get_if<int64_t>(&literal.value);
          if (value == nullptr) return std::nullopt;
          return Interval{*value, *value};
        },
        [&](const Read& read) {
          return RangeOf(flat_.tensors[flat_.accesses[read.access].tensor].shape.type);
        },
        [&](const Apply& apply) { return OfApply(apply); },
        [](const auto&) { return std::optional<Interval>(); });
    // Larger bounds could overflow 64 bits when multiplied.
    constexpr Interval kWide{-(int64_t{1} << 31), (int64_t{1} << 31) - 1};
    const bool is_held = range && kWide.Contains(*range) && range->min >= MinInteger(expr->type) &&
                         (ByteWidth(expr->type) > 4 || range->max <= MaxInteger(expr->type));
    return is_held ? range : RangeOf(expr->type);
  }

 private:
  std::optional<Interval> OfApply(const Apply& apply) const {
    const std::vector<ExprPtr>& operands = apply.operands;
    if (apply.op == ScalarOp::kCast || apply.op == ScalarOp::kIdentity) return Of(operands[0]);
    if (apply.op == ScalarOp::kSelect) {
      const auto a = Of(operands[1]);
      const auto b = Of(operands[2]);
      if (!a || !b) return std::nullopt;
      return Interval{std::min(a->min, b->min), std::max(a->max, b->max)};
    }
    if (operands.size() != 2) return std::nullopt;
    const auto a = Of(operands[0]);
    const auto b = Of(operands[1]);
    if (!a || !b) return std::nullopt;
    return Combine(apply.op, *a, *b);
  }

  const FlatContraction& flat_;
};

}  // namespace

std::optional<Interval> IntegerRange(const FlatContraction& flat, const ExprPtr& expr) {
  return Ranges(flat).Of(expr);
}

}  // namespace tartan::poly
