// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_operations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backend_opencl/dialect/opencl_expressions.h"
#include "backend_opencl/dialect/opencl_types.h"
#include "backend_opencl/dialect/vector_functions.h"

namespace tartan::opencl {
namespace {

using codegen::Code;
using codegen::Parenthesized;
using codegen::Precedence;
using loop::Type;

bool IsBool(const Type& type) { return type.element == DataType::kBool; }

// Prints a scalar operand of a vector operation. Plain constants are ints, and OpenCL C does not
// allow an int operand with vectors of narrower elements.
Code BesideVector(const Type& type, const Code& x) {
  const bool is_narrow = IsInteger(type.element) && ByteWidth(type.element) < 4;
  return type.lanes > 1 && is_narrow && x.literal ? IntLiteral(*x.literal, type) : x;
}

Code ConvertElement(const Code& value, const Type& from, DataType to) {
  const Type result{to, from.lanes};
  if (from.element == to) return value;
  if (to == DataType::kFloat16) return CallHelper("roundhalf", from, {value});
  if (to == DataType::kBFloat16) return CallHelper("roundbfloat", from, {value});
  if (ComputeType(from.element) == to) return value;  // already a rounded float32
  if (to == DataType::kBool) {
    return Infix("!=", Precedence::kEquality, value,
                 BesideVector(from, IntLiteral(0, Type{DataType::kInt32, 1})));
  }
  // Saturates, and converts NaN to 0. OpenCL C only recommends that for NaN: NVIDIA's driver
  // differs if either type has 64 bits, Intel's if the result is a uint.
  if (IsFloat(from.element) && IsInteger(to)) {
    const bool asks_for_nan =
        from.element == DataType::kFloat64 || ByteWidth(to) == 8 || to == DataType::kUInt32;
    const std::string name = TypeName(result);
    if (asks_for_nan) return Call(absl::StrCat("tt_saturate_", name, "_", TypeName(from)), {value});
    return Call(absl::StrCat("convert_", name, "_sat"), {value});
  }
  if (from.lanes == 1) return CastTo(TypeName(result), value);
  return Call(absl::StrCat("convert_", TypeName(result)), {value});
}

// Returns the built-in function for a floating-point operation, or "".
absl::string_view FloatFunction(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAbs:
      return "fabs";
    case ScalarOp::kCeil:
      return "ceil";
    case ScalarOp::kFloor:
      return "floor";
    case ScalarOp::kRound:
      return "rint";
    case ScalarOp::kTrunc:
      return "trunc";
    case ScalarOp::kSqrt:
      return "sqrt";
    case ScalarOp::kExp:
      return "exp";
    case ScalarOp::kExpm1:
      return "expm1";
    case ScalarOp::kLog:
      return "log";
    case ScalarOp::kLog1p:
      return "log1p";
    case ScalarOp::kSin:
      return "sin";
    case ScalarOp::kCos:
      return "cos";
    case ScalarOp::kTan:
      return "tan";
    case ScalarOp::kAsin:
      return "asin";
    case ScalarOp::kAcos:
      return "acos";
    case ScalarOp::kAtan:
      return "atan";
    case ScalarOp::kSinh:
      return "sinh";
    case ScalarOp::kCosh:
      return "cosh";
    case ScalarOp::kTanh:
      return "tanh";
    case ScalarOp::kAsinh:
      return "asinh";
    case ScalarOp::kAcosh:
      return "acosh";
    case ScalarOp::kAtanh:
      return "atanh";
    case ScalarOp::kErf:
      return "erf";
    case ScalarOp::kIsNan:
      return "isnan";
    case ScalarOp::kIsInf:
      return "isinf";
    case ScalarOp::kFmod:
      return "fmod";
    case ScalarOp::kPow:
      return "pow";
    case ScalarOp::kAtan2:
      return "atan2";
    default:
      return "";
  }
}

struct Operator {
  absl::string_view sign;  // empty: no operator
  Precedence precedence = Precedence::kPrimary;
};

// Returns the operator with the same meaning in C for every type except bool.
Operator InfixOperator(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return {"+", Precedence::kAdditive};
    case ScalarOp::kSub:
      return {"-", Precedence::kAdditive};
    case ScalarOp::kMul:
      return {"*", Precedence::kMultiplicative};
    case ScalarOp::kBitAnd:
      return {"&", Precedence::kBitAnd};
    case ScalarOp::kBitOr:
      return {"|", Precedence::kBitOr};
    case ScalarOp::kBitXor:
      return {"^", Precedence::kBitXor};
    case ScalarOp::kEqual:
      return {"==", Precedence::kEquality};
    case ScalarOp::kNotEqual:
      return {"!=", Precedence::kEquality};
    case ScalarOp::kLess:
      return {"<", Precedence::kRelational};
    case ScalarOp::kLessEqual:
      return {"<=", Precedence::kRelational};
    case ScalarOp::kGreater:
      return {">", Precedence::kRelational};
    case ScalarOp::kGreaterEqual:
      return {">=", Precedence::kRelational};
    default:
      return {};
  }
}

// Signed overflow is undefined in C, and compilers exploit that. An operation that may overflow is
// printed as an unsigned operation.
bool MayOverflow(const Type& type, absl::Span<const Code> operands) {
  if (!IsSignedInteger(type.element) || IsNarrowInteger(type)) return false;
  return std::any_of(operands.begin(), operands.end(),
                     [](const Code& operand) { return operand.is_data; });
}

Code AsUnsigned(const Type& type, const Code& value) {
  if (type.lanes == 1) return CastTo(UnsignedTypeName(type), value);
  return Call(absl::StrCat("as_", UnsignedTypeName(type)), {value});
}

Code AsSigned(const Type& type, const Code& value) {
  if (type.lanes == 1) return CastTo(TypeName(type), value);
  return Call(absl::StrCat("as_", TypeName(type)), {value});
}

Code ApplyWrapping(Operator row, const Type& type, const Code& a, const Code& b) {
  return AsSigned(type, Infix(row.sign, row.precedence, AsUnsigned(type, a), AsUnsigned(type, b)));
}

Code ApplyInfix(ScalarOp op, const Type& type, const Type& result,
                absl::Span<const Code> operands) {
  const Operator row = InfixOperator(op);
  const Type vector{type.element, result.lanes};
  const Code x[] = {BesideVector(vector, operands[0]), BesideVector(vector, operands[1])};
  const bool is_arithmetic = op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul;
  if (is_arithmetic && MayOverflow(type, x)) return ApplyWrapping(row, type, x[0], x[1]);
  // Prints x + -3 as x - 3.
  if (op == ScalarOp::kAdd && x[1].literal && *x[1].literal < 0 && *x[1].literal > INT32_MIN) {
    const Code positive = IntLiteral(-*x[1].literal, type);
    return Wrapped(result, Infix("-", row.precedence, x[0], positive));
  }
  const Code code = Infix(row.sign, row.precedence, x[0], x[1]);
  return ReturnsBool(op) ? code : Wrapped(result, code);
}

Code ApplyFloat(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  if (HasVectorFunction(op, type)) return CallHelper(Name(op), type, x);
  const Code one = FloatLiteral(1, Type{type.element, 1});
  switch (op) {
    case ScalarOp::kNeg:
      return Unary("-", x[0]);
    case ScalarOp::kDiv:
      return Infix("/", Precedence::kMultiplicative, x[0], x[1]);
    case ScalarOp::kRecip:
      return Infix("/", Precedence::kMultiplicative, one, x[0]);
    case ScalarOp::kSigmoid: {  // exp(-x) may overflow to infinity; the quotient is 0 then
      const Code power = Call("exp", {Unary("-", x[0])});
      const Code sum = Infix("+", Precedence::kAdditive, one, power);
      return Infix("/", Precedence::kMultiplicative, one, sum);
    }
    case ScalarOp::kMax:
      return CallHelper("max", type, x);
    case ScalarOp::kMin:
      return CallHelper("min", type, x);
    case ScalarOp::kMod:
      return CallHelper("mod", type, x);
    case ScalarOp::kFmod:
    case ScalarOp::kPow:
      // PoCL's functions for eight float64 elements mix up the lanes.
      if (type.lanes > 1 && type.element == DataType::kFloat64) {
        return CallHelper(Name(op), type, x);
      }
      return Call(FloatFunction(op), x);
    case ScalarOp::kRelu:
      return CallHelper("relu", type, x);
    case ScalarOp::kSign:
      return CallHelper("sign", type, x);
    default:
      return Call(FloatFunction(op), x);
  }
}

// Prints an operation on bool, which computes with 0 and 1; every nonzero result counts as 1.
Code ApplyBool(ScalarOp op, absl::Span<const Code> x) {
  switch (op) {
    case ScalarOp::kBitNot:
      return Unary("!", x[0]);
    case ScalarOp::kAdd:
    case ScalarOp::kMax:
      return Infix("|", Precedence::kBitOr, x[0], x[1]);
    case ScalarOp::kMul:
    case ScalarOp::kMin:
    case ScalarOp::kDiv:
      return Infix("&", Precedence::kBitAnd, x[0], x[1]);
    case ScalarOp::kSub:
      return Infix("^", Precedence::kBitXor, x[0], x[1]);
    case ScalarOp::kPow:
      return Infix("|", Precedence::kBitOr, x[0], Unary("!", x[1]));
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
      return Code{"0"};
    default:
      return x[0];
  }
}

// Prints x / n, x % n and x << n as C operators if n is a constant for which C has the same
// semantics. Other operands use a helper.
Code ApplyDivision(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool is_signed = IsSignedInteger(type.element);
  const bool is_div = op == ScalarOp::kDiv;
  const bool plain = x[1].literal && *x[1].literal != 0 && *x[1].literal != -1;
  if (op == ScalarOp::kMod && is_signed) return CallHelper("mod", type, x);
  if (plain) {
    return Infix(is_div ? "/" : "%", Precedence::kMultiplicative, x[0], BesideVector(type, x[1]));
  }
  return CallHelper(is_div ? "div" : "rem", type, x);
}

Code ApplyShift(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool left = op == ScalarOp::kShiftLeft;
  const auto count = x[1].literal ? x[1].literal : x[1].in_all_lanes;
  if (count == 0) return x[0];
  const bool plain = count && *count >= 0 && *count < 8 * ByteWidth(type.element) &&
                     !(left && IsSignedInteger(type.element));
  if (plain) return Wrapped(type, Infix(left ? "<<" : ">>", Precedence::kShift, x[0], x[1]));
  return CallHelper(left ? "shl" : "shr", type, x);
}

Code ApplyInteger(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool is_signed = IsSignedInteger(type.element);
  // Built-in functions are overloaded for every type. Narrow operands are computed as int, so they
  // are cast to int.
  const auto typed = [&](const Code& code) {
    return IsNarrowInteger(type) && !code.literal ? CastTo("int", code) : code;
  };
  const Code zero = IntLiteral(0, type);
  switch (op) {
    case ScalarOp::kNeg:
      if (MayOverflow(type, x)) return AsSigned(type, Unary("-", AsUnsigned(type, x[0])));
      return Wrapped(type, Unary("-", x[0]));
    case ScalarOp::kBitNot:
      return Wrapped(type, Unary("~", x[0]));
    case ScalarOp::kAbs:
      if (!is_signed) return x[0];
      // abs() returns an unsigned integer, which can represent the absolute value of INT_MIN. Its
      // bits are the wrapped signed result.
      if (type.lanes > 1) return Call(absl::StrCat("as_", TypeName(type)), {Call("abs", {x[0]})});
      return CastTo(TypeName(type), Call("abs", {typed(x[0])}));
    case ScalarOp::kMax:
      return Call("max", {typed(x[0]), typed(x[1])});
    case ScalarOp::kMin:
      return Call("min", {typed(x[0]), typed(x[1])});
    case ScalarOp::kRelu:
      return is_signed ? Call("max", {typed(x[0]), typed(zero)}) : x[0];
    case ScalarOp::kSign:
      if (!is_signed) return Call("min", {typed(x[0]), typed(IntLiteral(1, type))});
      return Call("clamp", {typed(x[0]), typed(IntLiteral(-1, type)), typed(IntLiteral(1, type))});
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return ApplyDivision(op, type, x);
    case ScalarOp::kPow:
      return CallHelper("pow", type, x);
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return ApplyShift(op, type, x);
    case ScalarOp::kDot16:
    case ScalarOp::kDot8:
    case ScalarOp::kDot8u:
      return CallHelper(Name(op), type, x);
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
      return type.lanes == 1 ? Code{"0"}
                             : Infix("!=", Precedence::kEquality, x[0], x[0]);  // all lanes false
    default:
      return x[0];  // rounding leaves integers unchanged
  }
}

Code ApplyLogic(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool scalar = type.lanes == 1;
  if (op == ScalarOp::kLogicalNot) return Unary("!", x[0]);
  if (op == ScalarOp::kLogicalAnd) {
    return scalar ? Infix("&&", Precedence::kLogicalAnd, x[0], x[1])
                  : Infix("&", Precedence::kBitAnd, x[0], x[1]);
  }
  return scalar ? Infix("||", Precedence::kLogicalOr, x[0], x[1])
                : Infix("|", Precedence::kBitOr, x[0], x[1]);
}

Code ApplySelect(const Type& type, absl::Span<const Code> x) {
  if (type.lanes == 1) {
    return Code{absl::StrCat(Parenthesized(x[0], Precedence::kLogicalOr), " ? ",
                             Parenthesized(x[1], Precedence::kLogicalOr), " : ",
                             Parenthesized(x[2], Precedence::kConditional)),
                Precedence::kConditional};
  }
  return Call("select", {x[2], x[1], x[0]});
}

}  // namespace

Code ConvertValue(const Code& value, const Type& from, const Type& to) {
  const Code converted = ConvertElement(value, from, to.element);
  if (from.lanes == to.lanes) return converted;
  return Code{absl::StrCat("(", TypeName(to), ")(", converted.text, ")"), Precedence::kUnary};
}

Code Apply(ScalarOp op, const Type& type, const Type& result, absl::Span<const Code> operands) {
  switch (op) {
    case ScalarOp::kIdentity:
      return operands[0];
    case ScalarOp::kCast:
      return ConvertValue(operands[0], type, result);
    case ScalarOp::kSelect:
      return ApplySelect(type, operands);
    case ScalarOp::kLogicalNot:
    case ScalarOp::kLogicalAnd:
    case ScalarOp::kLogicalOr:
      return ApplyLogic(op, type, operands);
    case ScalarOp::kPairBFloat16:
    case ScalarOp::kDotBFloat16:
      return CallHelper(Name(op), type, operands);
    default:
      break;
  }
  const bool has_operator = !InfixOperator(op).sign.empty();
  if (IsBool(type) && !(has_operator && ReturnsBool(op))) {
    const bool is_bitwise = op >= ScalarOp::kBitAnd && op <= ScalarOp::kBitXor;
    return is_bitwise ? ApplyInfix(op, type, result, operands) : ApplyBool(op, operands);
  }
  if (has_operator) return ApplyInfix(op, type, result, operands);
  return IsFloat(type.element) ? ApplyFloat(op, type, operands) : ApplyInteger(op, type, operands);
}

Code DotAndAdd(ScalarOp op, const Code& a, const Code& b, const Code& sum, const Type& type) {
  if (op != ScalarOp::kDot8) return CallHelper(absl::StrCat("sum", Name(op)), type, {sum, a, b});
  return ApplyWrapping(InfixOperator(ScalarOp::kAdd), type, sum,
                       CallHelper(Name(op), type, {a, b}));
}

Code FloatOfBitsFrom(const Code& x, int64_t shift, int64_t bits, const Type& type) {
  return CallHelper(absl::StrCat("signed", bits), type, {x, Code{absl::StrCat(shift)}});
}

// PoCL compiles fma() to one instruction, but mad() to two. On GPUs both are one instruction.
Code MultiplyAdd(const Code& a, const Code& b, const Code& sum, const Type& type, bool has_fma) {
  if (has_fma && IsFloat(type.element)) return Call("fma", {a, b, sum});
  Code product = ApplyInfix(ScalarOp::kMul, type, type, {a, b});
  product.is_data = a.is_data || b.is_data;
  return ApplyInfix(ScalarOp::kAdd, type, type, {sum, product});
}

}  // namespace tartan::opencl
