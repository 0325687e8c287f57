// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/compile_time.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tile/base/scalar_op.h"
#include "tile/base/scalar_value.h"
#include "tile/base/status_macros.h"

namespace tartan::lang {
namespace {

using Folded = absl::StatusOr<std::optional<CompileTimeScalar>>;

CompileTimeScalar Bool(bool value) { return {int64_t{value}, true}; }
CompileTimeScalar Integer(int64_t value) { return {value}; }
CompileTimeScalar Real(double value) { return {value}; }

absl::Status Overflow(int64_t a, absl::string_view symbol, int64_t b) {
  return absl::InvalidArgumentError(absl::StrCat(a, " ", symbol, " ", b, " overflows 64 bits"));
}

bool PowerOverflows(int64_t base, int64_t exponent) {
  if (base >= -1 && base <= 1) return false;
  for (int64_t result = 1; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return true;
  }
  return false;
}

bool ShiftOverflows(int64_t a, int64_t bits) {
  int64_t result = 0;
  return a != 0 && (bits > 62 || __builtin_mul_overflow(a, int64_t{1} << bits, &result));
}

// Compile-time integers are exact: results that would wrap, or have no value, are errors.
absl::Status CheckExact(ScalarOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case ScalarOp::kNeg:
      return CheckExact(ScalarOp::kSub, 0, a);
    case ScalarOp::kAbs:
      return a < 0 ? CheckExact(ScalarOp::kSub, 0, a) : absl::OkStatus();
    case ScalarOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? Overflow(a, "+", b) : absl::OkStatus();
    case ScalarOp::kSub:
      return __builtin_sub_overflow(a, b, &result) ? Overflow(a, "-", b) : absl::OkStatus();
    case ScalarOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? Overflow(a, "*", b) : absl::OkStatus();
    case ScalarOp::kDiv:
      if (b == -1 && a == std::numeric_limits<int64_t>::min()) return Overflow(a, "/", b);
      [[fallthrough]];
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      if (b != 0) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("division of the size ", a, " by zero"));
    case ScalarOp::kPow:
      return PowerOverflows(a, b) ? Overflow(a, "to the power", b) : absl::OkStatus();
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      if (b < 0) return absl::InvalidArgumentError(absl::StrCat("shift by ", b, " bits"));
      if (op == ScalarOp::kShiftLeft && ShiftOverflows(a, b)) return Overflow(a, "<<", b);
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

// Folds an operation on two numbers, or on two bools, which give bool.
Folded FoldIntegers(ScalarOp op, DataType type, int64_t a, int64_t b) {
  if (!IsDefined(op, type)) return std::nullopt;
  if (ReturnsBool(op)) return Bool(TestInteger(op, a, b, type));
  TARTAN_RETURN_IF_ERROR(CheckExact(op, a, b));
  if (op == ScalarOp::kPow && b < 0) return std::nullopt;
  const int64_t result = ApplyInteger(op, a, b, type);
  return type == DataType::kBool ? Bool(result != 0) : Integer(result);
}

// True for all operations except casts, dots on packed integers, tests for NaN and infinity, and
// most real functions.
bool IsFoldedHere(ScalarOp op) {
  switch (op) {
    case ScalarOp::kSqrt:
    case ScalarOp::kRecip:
    case ScalarOp::kExp:
    case ScalarOp::kLog:
      return true;
    case ScalarOp::kCast:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kDot16:
    case ScalarOp::kDot8:
    case ScalarOp::kDot8u:
    case ScalarOp::kPairBFloat16:
    case ScalarOp::kDotBFloat16:
      return false;
    default:
      return !IsFloatFunction(op);
  }
}

}  // namespace

double CompileTimeScalar::AsDouble() const {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

std::optional<int64_t> CompileTimeScalar::AsInteger() const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  const double real = std::get<double>(value);
  constexpr double kExact = 9007199254740992.0;  // 2^53: all integers up to here are exact doubles
  if (!(std::fabs(real) <= kExact) || real != std::trunc(real)) return std::nullopt;
  return static_cast<int64_t>(real);
}

std::string CompileTimeScalar::ToString() const {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? absl::StrCat(*integer) : absl::StrCat(std::get<double>(value));
}

Folded FoldCall(absl::string_view function, absl::Span<const CompileTimeScalar> operands) {
  const std::optional<ScalarOp> op = ScalarOpFromName(function);
  if (!op.has_value() || OperandCount(*op) != static_cast<int>(operands.size())) {
    return std::nullopt;
  }
  if (*op == ScalarOp::kIdentity) return operands[0];
  if (*op == ScalarOp::kSelect) return operands[0].IsTrue() ? operands[1] : operands[2];
  if (!IsFoldedHere(*op)) return std::nullopt;
  const CompileTimeScalar& a = operands.front();
  const CompileTimeScalar& b = operands.back();
  if (IsDefined(*op, DataType::kBool) && !IsDefined(*op, DataType::kInt64)) {  // logic
    return Bool(TestInteger(*op, a.IsTrue(), b.IsTrue(), DataType::kBool));
  }
  if (a.is_integer() && b.is_integer() && !IsFloatFunction(*op)) {
    const DataType type = a.is_bool && b.is_bool ? DataType::kBool : DataType::kInt64;
    return FoldIntegers(*op, type, std::get<int64_t>(a.value), std::get<int64_t>(b.value));
  }
  if (!IsDefined(*op, DataType::kFloat64)) return std::nullopt;
  if (ReturnsBool(*op)) return Bool(TestReal(*op, a.AsDouble(), b.AsDouble()));
  return Real(ApplyReal(*op, a.AsDouble(), b.AsDouble()));
}

}  // namespace tartan::lang
