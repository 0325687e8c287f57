// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/known_forms.h"

#include "tile/loop/build.h"

namespace tartan::codegen {
namespace {

struct Shift {
  loop::ExprPtr operand;
  int64_t bits;
};

// A shift of int32 by a constant.
std::optional<Shift> AsShift(const loop::ExprPtr& expr, ScalarOp op) {
  const auto* shift = std::get_if<loop::Apply>(&expr->node);
  const bool is_one = shift != nullptr && shift->op == op && expr->type.element == DataType::kInt32;
  if (!is_one) return std::nullopt;
  const auto bits = loop::LiteralValue(shift->operands[1]);
  return bits ? std::optional(Shift{shift->operands[0], *bits}) : std::nullopt;
}

}  // namespace

const loop::Apply* AsDot(const loop::ExprPtr& expr) {
  const auto* apply = std::get_if<loop::Apply>(&expr->node);
  const bool is_dot =
      apply != nullptr && (apply->op == ScalarOp::kDot16 || apply->op == ScalarOp::kDot8 ||
                           apply->op == ScalarOp::kDot8u || apply->op == ScalarOp::kDotBFloat16);
  return is_dot ? apply : nullptr;
}

std::optional<FloatOfBits> AsFloatOfBits(const loop::Apply& cast, const loop::Type& type) {
  const loop::ExprPtr& number = cast.operands[0];
  if (cast.op != ScalarOp::kCast || type.element != DataType::kFloat32 || type.lanes == 1 ||
      number->type.lanes != type.lanes) {
    return std::nullopt;
  }
  const auto right = AsShift(number, ScalarOp::kShiftRight);
  if (!right || (right->bits != 28 && right->bits != 30)) return std::nullopt;
  const auto left = AsShift(right->operand, ScalarOp::kShiftLeft);
  if (!left || left->bits != right->bits) return std::nullopt;
  const int64_t bits = 32 - left->bits;
  const auto place = AsShift(left->operand, ScalarOp::kShiftRight);
  const bool is_within = place && place->bits >= 0 && place->bits < 32 && place->bits % bits == 0;
  if (!is_within) return FloatOfBits{left->operand, 0, bits};
  return FloatOfBits{place->operand, place->bits, bits};
}

std::optional<Update> AsUpdate(const loop::Assign& assign) {
  const auto* apply = std::get_if<loop::Apply>(&assign.value->node);
  if (apply == nullptr || !IsFloat(assign.value->type.element)) return std::nullopt;
  if (apply->op != ScalarOp::kAdd && apply->op != ScalarOp::kMul) return std::nullopt;
  const auto* target = std::get_if<loop::Variable>(&apply->operands[0]->node);
  const loop::ExprPtr& value = apply->operands[1];
  if (target == nullptr || target->name != assign.name || AsDot(value) != nullptr) {
    return std::nullopt;
  }
  return Update{apply->op == ScalarOp::kAdd ? " += " : " *= ", value};
}

const std::string& UnrollOf(const loop::For& loop, const Dialect& dialect) {
  // A compiler takes two seconds to unroll 784 turns; measured with LLVM 15.
  constexpr int64_t kMaxUnrolledTurns = 256;
  const std::optional<int64_t> begin = loop::LiteralValue(loop.begin);
  const std::optional<int64_t> end = loop::LiteralValue(loop.end);
  const bool is_long =
      begin.has_value() && end.has_value() && *end - *begin > kMaxUnrolledTurns * loop.step;
  return is_long ? dialect.unroll_partly : dialect.unroll;
}

}  // namespace tartan::codegen
