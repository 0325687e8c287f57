// SPDX-License-Identifier: Apache-2.0
#include "tile/base/scalar_value.h"

#include <algorithm>
#include <cmath>

#include "tile/base/float16.h"

namespace tartan {
namespace {

int BitWidth(DataType type) { return static_cast<int>(8 * ByteWidth(type)); }

bool Less(int64_t a, int64_t b, DataType type) {
  if (type == DataType::kUInt64) return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return a < b;
}

// C division of the unsigned or signed values of the bits; 0 for b == 0.
uint64_t Divide(int64_t a, int64_t b, DataType type) {
  if (b == 0) return 0;
  if (type == DataType::kUInt64) return static_cast<uint64_t>(a) / static_cast<uint64_t>(b);
  if (b == -1) return -static_cast<uint64_t>(a);
  return static_cast<uint64_t>(a / b);
}

uint64_t Remainder(int64_t a, int64_t b, DataType type) {
  return static_cast<uint64_t>(a) - Divide(a, b, type) * static_cast<uint64_t>(b);
}

uint64_t FlooredRemainder(int64_t a, int64_t b, DataType type) {
  if (b == 0) return 0;
  const uint64_t remainder = Remainder(a, b, type);
  const auto is_negative = [&](int64_t x) { return IsSignedInteger(type) && x < 0; };
  const bool differs = is_negative(static_cast<int64_t>(remainder)) != is_negative(b);
  return remainder != 0 && differs ? remainder + static_cast<uint64_t>(b) : remainder;
}

uint64_t Power(int64_t base, int64_t exponent, DataType type) {
  if (IsSignedInteger(type) && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : ~uint64_t{0};
    return 0;
  }
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (uint64_t bits = static_cast<uint64_t>(exponent); bits != 0; bits >>= 1) {
    if ((bits & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

uint64_t ShiftLeft(int64_t a, int64_t count, DataType type) {
  return count < 0 || count >= BitWidth(type) ? 0 : static_cast<uint64_t>(a) << count;
}

// The dot of the packed integers in a and b, of types Left and Right.
template <typename Left, typename Right>
uint64_t Dot(int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 8 * static_cast<int>(sizeof(Left))) {
    sum += int64_t{static_cast<Left>(a >> shift)} * static_cast<Right>(b >> shift);
  }
  return static_cast<uint64_t>(sum);
}

uint64_t ShiftRight(int64_t a, int64_t count, DataType type) {
  if (count < 0 || count >= BitWidth(type))
    return IsSignedInteger(type) && a < 0 ? ~uint64_t{0} : 0;
  if (IsSignedInteger(type)) return static_cast<uint64_t>(a >> count);
  return static_cast<uint64_t>(a) >> count;
}

// The result before it is wrapped to its width.
uint64_t ApplyBits(ScalarOp op, int64_t a, int64_t b, DataType type) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  const bool is_negative = IsSignedInteger(type) && a < 0;
  switch (op) {
    case ScalarOp::kNeg:
      return -x;
    case ScalarOp::kAbs:
      return is_negative ? -x : x;
    case ScalarOp::kSign:
      return is_negative ? ~uint64_t{0} : uint64_t{a != 0};
    case ScalarOp::kBitNot:
      return type == DataType::kBool ? uint64_t{a == 0} : ~x;
    case ScalarOp::kRelu:
      return is_negative ? 0 : x;
    case ScalarOp::kAdd:
      return x + y;
    case ScalarOp::kSub:
      return x - y;
    case ScalarOp::kMul:
      return x * y;
    case ScalarOp::kDiv:
      return Divide(a, b, type);
    case ScalarOp::kMod:
      return FlooredRemainder(a, b, type);
    case ScalarOp::kFmod:
      return b == 0 ? 0 : Remainder(a, b, type);
    case ScalarOp::kPow:
      return Power(a, b, type);
    case ScalarOp::kMax:
      return Less(a, b, type) ? y : x;
    case ScalarOp::kMin:
      return Less(b, a, type) ? y : x;
    case ScalarOp::kBitAnd:
      return x & y;
    case ScalarOp::kBitOr:
      return x | y;
    case ScalarOp::kBitXor:
      return x ^ y;
    case ScalarOp::kShiftLeft:
      return ShiftLeft(a, b, type);
    case ScalarOp::kShiftRight:
      return ShiftRight(a, b, type);
    case ScalarOp::kDot16:
      return Dot<int16_t, int16_t>(a, b);
    case ScalarOp::kDot8:
      return Dot<int8_t, int8_t>(a, b);
    case ScalarOp::kDot8u:
      return Dot<uint8_t, int8_t>(a, b);
    default:  // kIdentity, kCeil, kFloor, kRound, kTrunc
      return x;
  }
}

double Modulus(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return std::signbit(remainder) != std::signbit(b) ? remainder + b : remainder;
}

// Independent of the current rounding mode.
double RoundHalfEven(double x) {
  const double below = std::floor(x);
  const double fraction = x - below;
  if (!(fraction > 0)) return x;  // an integer, infinity or NaN
  const bool goes_up = fraction > 0.5 || (fraction == 0.5 && std::fmod(below, 2) != 0);
  return std::copysign(goes_up ? below + 1 : below, x);
}

double ApplyTranscendental(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::kExp:
      return std::exp(x);
    case ScalarOp::kExpm1:
      return std::expm1(x);
    case ScalarOp::kLog:
      return std::log(x);
    case ScalarOp::kLog1p:
      return std::log1p(x);
    case ScalarOp::kSin:
      return std::sin(x);
    case ScalarOp::kCos:
      return std::cos(x);
    case ScalarOp::kTan:
      return std::tan(x);
    case ScalarOp::kAsin:
      return std::asin(x);
    case ScalarOp::kAcos:
      return std::acos(x);
    case ScalarOp::kAtan:
      return std::atan(x);
    case ScalarOp::kSinh:
      return std::sinh(x);
    case ScalarOp::kCosh:
      return std::cosh(x);
    case ScalarOp::kTanh:
      return std::tanh(x);
    case ScalarOp::kAsinh:
      return std::asinh(x);
    case ScalarOp::kAcosh:
      return std::acosh(x);
    case ScalarOp::kAtanh:
      return std::atanh(x);
    case ScalarOp::kErf:
      return std::erf(x);
    case ScalarOp::kSigmoid:
      return 1 / (1 + std::exp(-x));
    default:  // kIdentity
      return x;
  }
}

double ApplyUnary(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::kNeg:
      return -x;
    case ScalarOp::kAbs:
      return std::fabs(x);
    case ScalarOp::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
    case ScalarOp::kCeil:
      return std::ceil(x);
    case ScalarOp::kFloor:
      return std::floor(x);
    case ScalarOp::kRound:
      return RoundHalfEven(x);
    case ScalarOp::kTrunc:
      return std::trunc(x);
    case ScalarOp::kSqrt:
      return std::sqrt(x);
    case ScalarOp::kRecip:
      return 1 / x;
    case ScalarOp::kRelu:
      return x < 0 ? 0 : x;
    default:
      return ApplyTranscendental(op, x);
  }
}

}  // namespace

int64_t WrapInteger(uint64_t bits, DataType type) {
  if (type == DataType::kBool) return bits != 0;
  const int unused = 64 - BitWidth(type);
  if (IsSignedInteger(type)) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<int64_t>(bits << unused >> unused);
}

double RoundReal(double value, DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return HalfToFloat(FloatToHalf(static_cast<float>(value)));
    case DataType::kBFloat16:
      return BFloat16ToFloat(FloatToBFloat16(static_cast<float>(value)));
    case DataType::kFloat32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

int64_t IntegerFromReal(double value, DataType to) {
  if (to == DataType::kBool) return value != 0;
  if (std::isnan(value)) return 0;
  constexpr double kTwo63 = 9223372036854775808.0;
  if (to == DataType::kUInt64) {
    if (value >= 2 * kTwo63) return MaxInteger(to);
    return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value >= kTwo63) return MaxInteger(to);
  if (value < -kTwo63) return MinInteger(to);
  return std::clamp(static_cast<int64_t>(value), MinInteger(to), MaxInteger(to));
}

double RealFromInteger(int64_t value, DataType from, DataType to) {
  const bool is_unsigned = from == DataType::kUInt64;
  if (to == DataType::kFloat64) {
    return is_unsigned ? static_cast<double>(static_cast<uint64_t>(value))
                       : static_cast<double>(value);
  }
  // Not via double, which would round a 64-bit integer twice.
  const float real =
      is_unsigned ? static_cast<float>(static_cast<uint64_t>(value)) : static_cast<float>(value);
  return RoundReal(real, to);
}

int64_t ApplyInteger(ScalarOp op, int64_t a, int64_t b, DataType type) {
  return WrapInteger(ApplyBits(op, a, b, type), type);
}

double ApplyReal(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kMod:
      return Modulus(a, b);
    case ScalarOp::kFmod:
      return std::fmod(a, b);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kMax:
      return a > b || std::isnan(a) ? a : b;
    case ScalarOp::kMin:
      return a < b || std::isnan(a) ? a : b;
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    default:
      return ApplyUnary(op, a);
  }
}

bool TestInteger(ScalarOp op, int64_t a, int64_t b, DataType type) {
  switch (op) {
    case ScalarOp::kLogicalNot:
      return a == 0;
    case ScalarOp::kLogicalAnd:
      return a != 0 && b != 0;
    case ScalarOp::kLogicalOr:
      return a != 0 || b != 0;
    case ScalarOp::kEqual:
      return a == b;
    case ScalarOp::kNotEqual:
      return a != b;
    case ScalarOp::kLess:
      return Less(a, b, type);
    case ScalarOp::kLessEqual:
      return !Less(b, a, type);
    case ScalarOp::kGreater:
      return Less(b, a, type);
    case ScalarOp::kGreaterEqual:
      return !Less(a, b, type);
    default:  // kIsNan, kIsInf
      return false;
  }
}

bool TestReal(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kIsNan:
      return std::isnan(a);
    case ScalarOp::kIsInf:
      return std::isinf(a);
    case ScalarOp::kEqual:
      return a == b;
    case ScalarOp::kNotEqual:
      return a != b;
    case ScalarOp::kLess:
      return a < b;
    case ScalarOp::kLessEqual:
      return a <= b;
    case ScalarOp::kGreater:
      return a > b;
    default:  // kGreaterEqual; logic operations work on bool
      return a >= b;
  }
}

Scalar NormalizeScalar(Scalar value, DataType type) {
  if (IsFloat(type)) return Scalar{0, RoundReal(value.real, type)};
  return Scalar{WrapInteger(static_cast<uint64_t>(value.integer), type), 0};
}

Scalar ConvertScalar(Scalar value, DataType from, DataType to) {
  if (IsFloat(from) == IsFloat(to)) return NormalizeScalar(value, to);
  if (IsFloat(from)) return Scalar{IntegerFromReal(value.real, to), 0};
  return Scalar{0, RealFromInteger(value.integer, from, to)};
}

Scalar EvaluateScalar(ScalarOp op, DataType type, absl::Span<const Scalar> operands) {
  if (op == ScalarOp::kSelect) return operands[0].integer != 0 ? operands[1] : operands[2];
  const Scalar& a = operands.front();
  const Scalar& b = operands.back();
  if (op == ScalarOp::kPairBFloat16) {
    return Scalar{PairBFloat16(static_cast<float>(a.real), static_cast<float>(b.real)), 0};
  }
  if (op == ScalarOp::kDotBFloat16) {
    return Scalar{0, DotBFloat16(static_cast<int32_t>(a.integer), static_cast<int32_t>(b.integer))};
  }
  if (IsFloat(type)) {
    if (ReturnsBool(op)) return Scalar{TestReal(op, a.real, b.real), 0};
    return Scalar{0, RoundReal(ApplyReal(op, a.real, b.real), type)};
  }
  if (ReturnsBool(op)) return Scalar{TestInteger(op, a.integer, b.integer, type), 0};
  return Scalar{ApplyInteger(op, a.integer, b.integer, type), 0};
}

bool IsFloatFunction(ScalarOp op) {
  return op == ScalarOp::kSqrt || op == ScalarOp::kRecip || op == ScalarOp::kAtan2 ||
         (op >= ScalarOp::kExp && op <= ScalarOp::kSigmoid);
}

bool IsDefined(ScalarOp op, DataType type) {
  switch (op) {
    case ScalarOp::kLogicalNot:
    case ScalarOp::kLogicalAnd:
    case ScalarOp::kLogicalOr:
      return type == DataType::kBool;
    case ScalarOp::kBitNot:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
      return !IsFloat(type);
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return IsInteger(type);
    case ScalarOp::kDot16:
    case ScalarOp::kDot8:
    case ScalarOp::kDot8u:
    case ScalarOp::kDotBFloat16:
      return type == DataType::kInt32;
    case ScalarOp::kPairBFloat16:
      return type == DataType::kFloat32;
    default:
      return IsFloat(type) || !IsFloatFunction(op);
  }
}

}  // namespace tartan
