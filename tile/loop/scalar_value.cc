#include "tile/loop/scalar_value.h"

#include <cmath>

#include "tile/base/float16.h"

namespace tartan::loop {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

int BitWidth(DataType type) { return type == DataType::kBool ? 1 : 8 * ByteWidth(type); }

// The low bits of the width, sign- or zero-extended; bool: any bit set.
int64_t Wrap(uint64_t bits, DataType type) {
  if (type == DataType::kBool) return bits != 0;
  const int unused = 64 - BitWidth(type);
  if (IsSignedInteger(type)) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<int64_t>(bits << unused >> unused);
}

int64_t Saturate(double value, DataType type) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (type == DataType::kUInt64) {
    if (value <= 0) return 0;
    if (value >= kTwo64) return -1;
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value >= kTwo63) return MaxInteger(type);
  if (value < -kTwo63) return MinInteger(type);
  const auto integer = static_cast<int64_t>(value);
  return std::min(std::max(integer, MinInteger(type)), MaxInteger(type));
}

double ToReal(int64_t integer, DataType from, DataType to) {
  // Directly to float: a step through double would round twice.
  if (to == DataType::kFloat32) {
    return from == DataType::kUInt64 ? static_cast<float>(static_cast<uint64_t>(integer))
                                     : static_cast<float>(integer);
  }
  return from == DataType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(integer))
                                   : static_cast<double>(integer);
}

Scalar FromBool(bool value) { return Scalar{value, 0}; }

// Unsigned types compare as uint64, others as int64 (their values are extended).
bool IntegerLess(int64_t a, int64_t b, DataType type) {
  if (IsUnsignedInteger(type)) return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return a < b;
}

// The quotient and remainder of C, with 0 where C has none.
int64_t Quotient(int64_t a, int64_t b, DataType type) {
  if (b == 0) return 0;
  if (IsUnsignedInteger(type)) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  }
  if (b == -1) return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a));
  return a / b;
}

int64_t Remainder(int64_t a, int64_t b, DataType type) {
  if (b == 0) return 0;
  if (IsUnsignedInteger(type)) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  }
  return b == -1 ? 0 : a % b;
}

uint64_t Power(int64_t base, int64_t exponent, DataType type) {
  if (IsSignedInteger(type) && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : ~uint64_t{0};
    return 0;
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= factor;
    factor *= factor;
  }
  return result;
}

uint64_t Shift(ScalarOp op, int64_t value, int64_t count, DataType type) {
  const bool in_range = count >= 0 && count < BitWidth(type);
  if (op == ScalarOp::kShiftLeft) return in_range ? static_cast<uint64_t>(value) << count : 0;
  if (IsSignedInteger(type)) {
    if (in_range) return static_cast<uint64_t>(value >> count);
    return value < 0 ? ~uint64_t{0} : 0;
  }
  return in_range ? static_cast<uint64_t>(value) >> count : 0;
}

uint64_t Dot16(int64_t a, int64_t b) {
  const int64_t low = int64_t{static_cast<int16_t>(a)} * static_cast<int16_t>(b);
  const int64_t high = int64_t{static_cast<int16_t>(a >> 16)} * static_cast<int16_t>(b >> 16);
  return static_cast<uint64_t>(low + high);
}

template <typename Left>
uint64_t Dot8(int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int byte = 0; byte < 4; ++byte) {
    sum += int64_t{static_cast<Left>(a >> 8 * byte)} * static_cast<int8_t>(b >> 8 * byte);
  }
  return static_cast<uint64_t>(sum);
}

// The bits of an operation on integers or bool before wrapping.
uint64_t EvaluateInteger(ScalarOp op, DataType type, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  switch (op) {
    case ScalarOp::kNeg:
      return uint64_t{0} - x;
    case ScalarOp::kAbs:
      return IsSignedInteger(type) && a < 0 ? uint64_t{0} - x : x;
    case ScalarOp::kSign:
      return IsSignedInteger(type) && a < 0 ? ~uint64_t{0} : a != 0;
    case ScalarOp::kBitNot:
      return type == DataType::kBool ? a == 0 : ~x;
    case ScalarOp::kRecip:
      return static_cast<uint64_t>(Quotient(1, a, type));
    case ScalarOp::kRelu:
      return IsSignedInteger(type) && a < 0 ? 0 : x;
    case ScalarOp::kAdd:
      return x + y;
    case ScalarOp::kSub:
      return x - y;
    case ScalarOp::kMul:
      return x * y;
    case ScalarOp::kDiv:
      return static_cast<uint64_t>(Quotient(a, b, type));
    case ScalarOp::kMod: {
      const int64_t remainder = Remainder(a, b, type);
      const bool adjust = IsSignedInteger(type) && remainder != 0 && (remainder < 0) != (b < 0);
      return static_cast<uint64_t>(remainder) + (adjust ? y : 0);
    }
    case ScalarOp::kFmod:
      return static_cast<uint64_t>(Remainder(a, b, type));
    case ScalarOp::kPow:
      return Power(a, b, type);
    case ScalarOp::kMax:
      return IntegerLess(a, b, type) ? y : x;
    case ScalarOp::kMin:
      return IntegerLess(b, a, type) ? y : x;
    case ScalarOp::kBitAnd:
      return x & y;
    case ScalarOp::kBitOr:
      return x | y;
    case ScalarOp::kBitXor:
      return x ^ y;
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return Shift(op, a, b, type);
    case ScalarOp::kDot16:
      return Dot16(a, b);
    case ScalarOp::kDot8:
      return Dot8<int8_t>(a, b);
    case ScalarOp::kDot8u:
      return Dot8<uint8_t>(a, b);
    default:  // kIdentity and the roundings: the value itself
      return x;
  }
}

double RoundHalfEven(double x) {
  const double below = std::floor(x);
  const double fraction = x - below;
  if (fraction < 0.5) return std::copysign(below, x);
  if (fraction > 0.5) return std::copysign(below + 1, x);
  if (!(fraction == 0.5)) return x;  // NaN, infinity
  return std::copysign(std::fmod(below, 2) == 0 ? below : below + 1, x);
}

double FlooredModulus(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double EvaluateUnaryReal(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::kNeg:
      return -x;
    case ScalarOp::kAbs:
      return std::fabs(x);
    case ScalarOp::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
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
    case ScalarOp::kRelu:
      return x < 0 ? 0 : x;
    default:
      return x;  // kIdentity
  }
}

double EvaluateBinaryReal(ScalarOp op, double a, double b) {
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
      return FlooredModulus(a, b);
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
      return a;
  }
}

// Comparisons of reals, or of integers of a type.
template <class Less>
bool Compare(ScalarOp op, bool equal, Less less) {
  switch (op) {
    case ScalarOp::kEqual:
      return equal;
    case ScalarOp::kNotEqual:
      return !equal;
    case ScalarOp::kLess:
      return less(0, 1);
    case ScalarOp::kLessEqual:
      return less(0, 1) || equal;
    case ScalarOp::kGreater:
      return less(1, 0);
    default:
      return less(1, 0) || equal;  // kGreaterEqual
  }
}

bool EvaluatePredicate(ScalarOp op, DataType type, absl::Span<const Scalar> operands) {
  const Scalar& a = operands[0];
  switch (op) {
    case ScalarOp::kLogicalNot:
      return a.integer == 0;
    case ScalarOp::kLogicalAnd:
      return a.integer != 0 && operands[1].integer != 0;
    case ScalarOp::kLogicalOr:
      return a.integer != 0 || operands[1].integer != 0;
    case ScalarOp::kIsNan:
      return IsFloat(type) && std::isnan(a.real);
    case ScalarOp::kIsInf:
      return IsFloat(type) && std::isinf(a.real);
    default:
      break;
  }
  if (IsFloat(type)) {
    return Compare(op, a.real == operands[1].real,
                   [&](int i, int j) { return operands[i].real < operands[j].real; });
  }
  return Compare(op, a.integer == operands[1].integer, [&](int i, int j) {
    return IntegerLess(operands[i].integer, operands[j].integer, type);
  });
}

}  // namespace

Scalar Normalize(Scalar value, DataType type) {
  const auto real = static_cast<float>(value.real);
  if (type == DataType::kFloat32) return Scalar{0, real};
  if (type == DataType::kFloat16) return Scalar{0, HalfToFloat(FloatToHalf(real))};
  if (type == DataType::kBFloat16) return Scalar{0, BFloat16ToFloat(FloatToBFloat16(real))};
  if (IsFloat(type)) return Scalar{0, value.real};
  return Scalar{Wrap(static_cast<uint64_t>(value.integer), type), 0};
}

Scalar Convert(Scalar value, DataType from, DataType to) {
  if (IsFloat(from)) {
    if (IsFloat(to)) return Normalize(value, to);
    if (to == DataType::kBool) return FromBool(value.real != 0);
    return Scalar{Saturate(value.real, to), 0};
  }
  if (IsFloat(to)) return Scalar{0, ToReal(value.integer, from, to)};
  return Normalize(value, to);
}

Scalar Evaluate(ScalarOp op, DataType type, absl::Span<const Scalar> operands) {
  if (op == ScalarOp::kSelect) return operands[0].integer != 0 ? operands[1] : operands[2];
  if (ReturnsBool(op)) return FromBool(EvaluatePredicate(op, type, operands));
  const bool binary = operands.size() == 2;
  if (IsFloat(type)) {
    const double real = binary ? EvaluateBinaryReal(op, operands[0].real, operands[1].real)
                               : EvaluateUnaryReal(op, operands[0].real);
    return Normalize(Scalar{0, real}, type);
  }
  const int64_t second = binary ? operands[1].integer : 0;
  return Scalar{Wrap(EvaluateInteger(op, type, operands[0].integer, second), type), 0};
}

bool IsFloatFunction(ScalarOp op) {
  return op == ScalarOp::kSqrt || (op >= ScalarOp::kExp && op <= ScalarOp::kSigmoid) ||
         op == ScalarOp::kAtan2;
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
      return type == DataType::kInt32;
    default:
      return IsFloat(type) || !IsFloatFunction(op);
  }
}

}  // namespace tartan::loop
