#include "tile/lang/compile_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tile/base/scalar_op.h"
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

// a mod b with the sign of b, as in Python.
int64_t FloorMod(int64_t a, int64_t b) {
  if (b == -1) return 0;  // INT64_MIN % -1 traps
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

Folded FoldIntegerDivision(ScalarOp op, int64_t a, int64_t b) {
  if (b == 0) {
    return absl::InvalidArgumentError(absl::StrCat("division of the size ", a, " by zero"));
  }
  if (op == ScalarOp::kMod) return Integer(FloorMod(a, b));
  if (b == -1 && a == std::numeric_limits<int64_t>::min()) return Overflow(a, "/", b);
  if (op == ScalarOp::kDiv) return Integer(a / b);
  return Integer(b == -1 ? 0 : a % b);
}

Folded FoldPower(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  const int64_t original = exponent;
  if (base == 0 || base == 1) return Integer(exponent == 0 ? 1 : base);
  if (base == -1) return Integer(exponent % 2 == 0 ? 1 : -1);
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result))
      return Overflow(base, "to the power", original);
  }
  return Integer(result);
}

// Shifting by the width or more leaves nothing but the sign.
int64_t ShiftRight(int64_t a, int64_t bits) { return a >> std::clamp<int64_t>(bits, 0, 63); }
Folded ShiftLeft(int64_t a, int64_t bits) {
  if (bits < 0) return absl::InvalidArgumentError(absl::StrCat("shift by ", bits, " bits"));
  int64_t result = 0;
  if (a == 0) return Integer(0);
  if (bits > 62 || __builtin_mul_overflow(a, int64_t{1} << bits, &result)) {
    return Overflow(a, "<<", bits);
  }
  return Integer(result);
}

template <class T>
std::optional<CompileTimeScalar> FoldComparison(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kEqual:
      return Bool(a == b);
    case ScalarOp::kNotEqual:
      return Bool(a != b);
    case ScalarOp::kLess:
      return Bool(a < b);
    case ScalarOp::kLessEqual:
      return Bool(a <= b);
    case ScalarOp::kGreater:
      return Bool(a > b);
    case ScalarOp::kGreaterEqual:
      return Bool(a >= b);
    case ScalarOp::kLogicalAnd:
      return Bool(a != 0 && b != 0);
    case ScalarOp::kLogicalOr:
      return Bool(a != 0 || b != 0);
    default:
      return std::nullopt;
  }
}

Folded FoldIntegers(ScalarOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case ScalarOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return Overflow(a, "+", b);
      return Integer(result);
    case ScalarOp::kSub:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow(a, "-", b);
      return Integer(result);
    case ScalarOp::kMul:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow(a, "*", b);
      return Integer(result);
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return FoldIntegerDivision(op, a, b);
    case ScalarOp::kPow:
      return FoldPower(a, b);
    case ScalarOp::kMax:
      return Integer(std::max(a, b));
    case ScalarOp::kMin:
      return Integer(std::min(a, b));
    case ScalarOp::kBitAnd:
      return Integer(a & b);
    case ScalarOp::kBitOr:
      return Integer(a | b);
    case ScalarOp::kBitXor:
      return Integer(a ^ b);
    case ScalarOp::kShiftLeft:
      return ShiftLeft(a, b);
    case ScalarOp::kShiftRight:
      return Integer(ShiftRight(a, b));
    case ScalarOp::kDot16:
    case ScalarOp::kDot8:
    case ScalarOp::kDot8u:
      return std::nullopt;  // sizes are no pairs of numbers
    default:
      return FoldComparison(op, a, b);
  }
}

std::optional<CompileTimeScalar> FoldReals(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kAdd:
      return Real(a + b);
    case ScalarOp::kSub:
      return Real(a - b);
    case ScalarOp::kMul:
      return Real(a * b);
    case ScalarOp::kDiv:
      return Real(a / b);
    case ScalarOp::kPow:
      return Real(std::pow(a, b));
    case ScalarOp::kMax:
      return Real(std::isnan(a) || a > b ? a : b);
    case ScalarOp::kMin:
      return Real(std::isnan(a) || a < b ? a : b);
    default:
      return FoldComparison(op, a, b);
  }
}

Folded FoldInteger(ScalarOp op, int64_t a) {
  switch (op) {
    case ScalarOp::kNeg:
      return FoldIntegers(ScalarOp::kSub, 0, a);
    case ScalarOp::kAbs:
      return a < 0 ? FoldIntegers(ScalarOp::kSub, 0, a) : Integer(a);
    case ScalarOp::kSign:
      return Integer((a > 0) - (a < 0));
    case ScalarOp::kBitNot:
      return Integer(~a);
    case ScalarOp::kCeil:
    case ScalarOp::kFloor:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
    case ScalarOp::kRelu:
      return Integer(op == ScalarOp::kRelu && a < 0 ? 0 : a);
    default:
      return std::nullopt;
  }
}

std::optional<CompileTimeScalar> FoldReal(ScalarOp op, double a) {
  switch (op) {
    case ScalarOp::kNeg:
      return Real(-a);
    case ScalarOp::kAbs:
      return Real(std::fabs(a));
    case ScalarOp::kCeil:
      return Real(std::ceil(a));
    case ScalarOp::kFloor:
      return Real(std::floor(a));
    case ScalarOp::kRound:
      return Real(std::nearbyint(a));
    case ScalarOp::kTrunc:
      return Real(std::trunc(a));
    case ScalarOp::kSqrt:
      return Real(std::sqrt(a));
    case ScalarOp::kRecip:
      return Real(1 / a);
    case ScalarOp::kExp:
      return Real(std::exp(a));
    case ScalarOp::kLog:
      return Real(std::log(a));
    default:
      return std::nullopt;
  }
}

// Functions that leave the integers.
bool IsRealFunction(ScalarOp op) {
  return op == ScalarOp::kSqrt || op == ScalarOp::kRecip || op == ScalarOp::kExp ||
         op == ScalarOp::kLog;
}

}  // namespace

double CompileTimeScalar::AsDouble() const {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

std::optional<int64_t> CompileTimeScalar::AsInteger() const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  const double real = std::get<double>(value);
  constexpr double kExact = 9007199254740992.0;  // 2^53: every integer up to here is a double
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
  if (*op == ScalarOp::kLogicalNot) return Bool(!operands[0].IsTrue());
  const CompileTimeScalar& a = operands[0];
  if (operands.size() == 1) {
    if (a.is_integer() && !IsRealFunction(*op)) return FoldInteger(*op, std::get<int64_t>(a.value));
    return FoldReal(*op, a.AsDouble());
  }
  const CompileTimeScalar& b = operands[1];
  if (a.is_integer() && b.is_integer()) {
    return FoldIntegers(*op, std::get<int64_t>(a.value), std::get<int64_t>(b.value));
  }
  return FoldReals(*op, a.AsDouble(), b.AsDouble());
}

}  // namespace tartan::lang
