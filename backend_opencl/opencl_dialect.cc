#include "backend_opencl/opencl_dialect.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/opencl_helpers.h"
#include "backend_opencl/opencl_types.h"

namespace tartan::opencl {
namespace {

using codegen::Code;
using codegen::MemorySpace;
using codegen::Parenthesized;
using codegen::Place;
using codegen::Precedence;
using sem::Type;

// Scalars of these are computed as int in C and cut to their width afterwards.
bool IsNarrowInteger(const Type& type) {
  return type.lanes == 1 && IsInteger(type.element) && ByteWidth(type.element) < 4;
}

bool IsBool(const Type& type) { return type.element == DataType::kBool; }

Code Call(absl::string_view function, absl::Span<const Code> arguments) {
  return Code{absl::StrCat(function, "(",
                           absl::StrJoin(arguments, ", ",
                                         [](std::string* out, const Code& code) {
                                           absl::StrAppend(out, code.text);
                                         }),
                           ")")};
}

Code CallHelper(absl::string_view name, const Type& type, absl::Span<const Code> arguments) {
  return Call(absl::StrCat("tt_", name, "_", TypeName(type)), arguments);
}

Code CastTo(absl::string_view type_name, const Code& value) {
  return Code{absl::StrCat("(", type_name, ")", Parenthesized(value, Precedence::kUnary)),
              Precedence::kUnary};
}

Code Unary(absl::string_view sign, const Code& operand) {
  const bool doubled = absl::StartsWith(operand.text, sign);  // "--" is another operator
  const std::string text = doubled ? absl::StrCat("(", operand.text, ")")
                                   : Parenthesized(operand, Precedence::kUnary);
  return Code{absl::StrCat(sign, text), Precedence::kUnary};
}

// Left-associative. Operands of shifts, comparisons and bit operators keep the parentheses that
// readers (and compilers' warnings) like to see, those of logic only where logic mixes.
Code Infix(absl::string_view sign, Precedence precedence, const Code& a, const Code& b) {
  const bool is_logic =
      precedence == Precedence::kLogicalAnd || precedence == Precedence::kLogicalOr;
  const auto above = static_cast<Precedence>(static_cast<uint8_t>(precedence) + 1);
  const Precedence least = is_logic                               ? Precedence::kEquality
                           : precedence >= Precedence::kAdditive ? above
                                                                  : Precedence::kAdditive;
  const Precedence left = a.precedence == precedence ? precedence : least;
  const Precedence right = is_logic && b.precedence == precedence ? precedence : least;
  return Code{absl::StrCat(Parenthesized(a, left), " ", sign, " ", Parenthesized(b, right)),
              precedence};
}

// Cuts a result computed as int to the width of a narrow type.
Code Wrapped(const Type& type, const Code& code) {
  return IsNarrowInteger(type) ? CastTo(TypeName(type), code) : code;
}

Code IntLiteral(int64_t value, const Type& type) {
  std::string text;
  switch (type.element) {
    case DataType::kInt64:
      text = value == INT64_MIN ? "(-9223372036854775807L - 1)" : absl::StrCat(value, "L");
      break;
    case DataType::kUInt64:
      text = absl::StrCat(static_cast<uint64_t>(value), "UL");
      break;
    case DataType::kUInt32:
      text = absl::StrCat(value, "u");
      break;
    case DataType::kInt32:
      text = value == INT32_MIN ? "(-2147483647 - 1)" : absl::StrCat(value);
      break;
    default:
      text = absl::StrCat(value);
  }
  if (type.lanes > 1) {
    return Code{absl::StrCat("(", TypeName(type), ")(", text, ")"), Precedence::kUnary};
  }
  return Code{text, text[0] == '-' ? Precedence::kUnary : Precedence::kPrimary};
}

// The shortest decimal that reads back as the same value.
std::string Decimal(double value, bool is_double) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    const bool same = is_double ? std::strtod(text, nullptr) == value
                                : std::strtof(text, nullptr) == static_cast<float>(value);
    if (same) break;
  }
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

Code FloatLiteral(double value, const Type& type) {
  const bool is_double = type.element == DataType::kFloat64;
  const bool finite = std::isfinite(value);
  std::string text;
  if (std::isnan(value)) {
    text = "NAN";
  } else if (std::isinf(value)) {
    text = value > 0 ? "INFINITY" : "-INFINITY";
  } else {
    text = absl::StrCat(Decimal(value, is_double), is_double ? "" : "f");
  }
  if (type.lanes > 1 || (is_double && !finite)) {
    return Code{absl::StrCat("(", TypeName(type), ")(", text, ")"), Precedence::kUnary};
  }
  return Code{text, text[0] == '-' ? Precedence::kUnary : Precedence::kPrimary};
}

// ---- Conversions ----

Code ConvertElement(const Code& value, const Type& from, DataType to) {
  const Type result{to, from.lanes};
  if (from.element == to) return value;
  if (to == DataType::kBool) {
    return Infix("!=", Precedence::kEquality, value, Code{"0"});
  }
  // Saturates, and NaN becomes 0.
  if (IsFloat(from.element) && IsInteger(to)) {
    return Call(absl::StrCat("convert_", TypeName(result), "_sat"), {value});
  }
  if (from.lanes == 1) return CastTo(TypeName(result), value);
  return Call(absl::StrCat("convert_", TypeName(result)), {value});
}

Code ConvertValue(const Code& value, const Type& from, const Type& to) {
  const Code converted = ConvertElement(value, from, to.element);
  if (from.lanes == to.lanes) return converted;
  return Code{absl::StrCat("(", TypeName(to), ")(", converted.text, ")"), Precedence::kUnary};
}

// ---- Operations ----

// The built-in function of a floating-point operation, or "".
absl::string_view FloatFunction(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAbs: return "fabs";
    case ScalarOp::kCeil: return "ceil";
    case ScalarOp::kFloor: return "floor";
    case ScalarOp::kRound: return "rint";
    case ScalarOp::kTrunc: return "trunc";
    case ScalarOp::kSqrt: return "sqrt";
    case ScalarOp::kExp: return "exp";
    case ScalarOp::kExpm1: return "expm1";
    case ScalarOp::kLog: return "log";
    case ScalarOp::kLog1p: return "log1p";
    case ScalarOp::kSin: return "sin";
    case ScalarOp::kCos: return "cos";
    case ScalarOp::kTan: return "tan";
    case ScalarOp::kAsin: return "asin";
    case ScalarOp::kAcos: return "acos";
    case ScalarOp::kAtan: return "atan";
    case ScalarOp::kSinh: return "sinh";
    case ScalarOp::kCosh: return "cosh";
    case ScalarOp::kTanh: return "tanh";
    case ScalarOp::kAsinh: return "asinh";
    case ScalarOp::kAcosh: return "acosh";
    case ScalarOp::kAtanh: return "atanh";
    case ScalarOp::kErf: return "erf";
    case ScalarOp::kIsNan: return "isnan";
    case ScalarOp::kIsInf: return "isinf";
    case ScalarOp::kFmod: return "fmod";
    case ScalarOp::kPow: return "pow";
    case ScalarOp::kAtan2: return "atan2";
    default: return "";
  }
}

struct Operator {
  absl::string_view sign;  // empty: none
  Precedence precedence = Precedence::kPrimary;
};

// Operators that mean the same in C for every type but bool.
Operator InfixOperator(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd: return {"+", Precedence::kAdditive};
    case ScalarOp::kSub: return {"-", Precedence::kAdditive};
    case ScalarOp::kMul: return {"*", Precedence::kMultiplicative};
    case ScalarOp::kBitAnd: return {"&", Precedence::kBitAnd};
    case ScalarOp::kBitOr: return {"|", Precedence::kBitOr};
    case ScalarOp::kBitXor: return {"^", Precedence::kBitXor};
    case ScalarOp::kEqual: return {"==", Precedence::kEquality};
    case ScalarOp::kNotEqual: return {"!=", Precedence::kEquality};
    case ScalarOp::kLess: return {"<", Precedence::kRelational};
    case ScalarOp::kLessEqual: return {"<=", Precedence::kRelational};
    case ScalarOp::kGreater: return {">", Precedence::kRelational};
    case ScalarOp::kGreaterEqual: return {">=", Precedence::kRelational};
    default: return {};
  }
}

Code ApplyInfix(ScalarOp op, const Type& type, const Type& result, absl::Span<const Code> x) {
  const Operator row = InfixOperator(op);
  // x + -3 reads x - 3.
  if (op == ScalarOp::kAdd && x[1].literal && *x[1].literal < 0 && *x[1].literal > INT32_MIN) {
    const Code positive = IntLiteral(-*x[1].literal, type);
    return Wrapped(result, Infix("-", row.precedence, x[0], positive));
  }
  const Code code = Infix(row.sign, row.precedence, x[0], x[1]);
  return ReturnsBool(op) ? code : Wrapped(result, code);
}

Code ApplyFloat(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const Code one = FloatLiteral(1, Type{type.element, 1});
  switch (op) {
    case ScalarOp::kNeg:
      return Unary("-", x[0]);
    case ScalarOp::kDiv:
      return Infix("/", Precedence::kMultiplicative, x[0], x[1]);
    case ScalarOp::kRecip:
      return Infix("/", Precedence::kMultiplicative, one, x[0]);
    case ScalarOp::kSigmoid: {  // exp(-x) may become infinite; the quotient is 0 then
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
    case ScalarOp::kRelu:
      return CallHelper("relu", type, x);
    case ScalarOp::kSign:
      return CallHelper("sign", type, x);
    default:
      return Call(FloatFunction(op), x);
  }
}

// bool computes with 0 and 1; every result but 0 counts as 1.
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

// x / n, x % n and x << n for a literal n where C agrees with us; other operands go to a helper.
Code ApplyDivision(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool is_signed = IsSignedInteger(type.element);
  const bool is_div = op == ScalarOp::kDiv;
  const bool plain = x[1].literal && *x[1].literal != 0 && *x[1].literal != -1;
  if (op == ScalarOp::kMod && is_signed) return CallHelper("mod", type, x);
  if (plain) return Infix(is_div ? "/" : "%", Precedence::kMultiplicative, x[0], x[1]);
  return CallHelper(is_div ? "div" : "rem", type, x);
}

Code ApplyShift(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool left = op == ScalarOp::kShiftLeft;
  const auto count = x[1].literal;
  const bool plain = count && *count >= 0 && *count < 8 * ByteWidth(type.element) &&
                     !(left && IsSignedInteger(type.element));
  if (plain) return Wrapped(type, Infix(left ? "<<" : ">>", Precedence::kShift, x[0], x[1]));
  return CallHelper(left ? "shl" : "shr", type, x);
}

Code ApplyInteger(ScalarOp op, const Type& type, absl::Span<const Code> x) {
  const bool is_signed = IsSignedInteger(type.element);
  // Built-in functions are overloaded for every type: operands computed as int are called as such.
  const auto typed = [&](const Code& code) {
    return IsNarrowInteger(type) && !code.literal ? CastTo("int", code) : code;
  };
  const Code zero = IntLiteral(0, type);
  switch (op) {
    case ScalarOp::kNeg:
      return Wrapped(type, Unary("-", x[0]));
    case ScalarOp::kBitNot:
      return Wrapped(type, Unary("~", x[0]));
    case ScalarOp::kAbs:
      if (!is_signed) return x[0];
      // abs() returns an unsigned integer, which holds the least integer's too: its bits are ours.
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
    case ScalarOp::kRecip:
      return CallHelper("div", type, {IntLiteral(1, type), x[0]});
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      return ApplyDivision(op, type, x);
    case ScalarOp::kPow:
      return CallHelper("pow", type, x);
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return ApplyShift(op, type, x);
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
      return type.lanes == 1 ? Code{"0"}
                             : Infix("!=", Precedence::kEquality, x[0], x[0]);  // a mask of zeros
    default:
      return x[0];  // integers are round
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

Code ApplySelect(const Type& type, const Type& result, absl::Span<const Code> x) {
  if (type.lanes == 1) {
    return Code{absl::StrCat(Parenthesized(x[0], Precedence::kLogicalOr), " ? ",
                             Parenthesized(x[1], Precedence::kLogicalOr), " : ",
                             Parenthesized(x[2], Precedence::kConditional)),
                Precedence::kConditional};
  }
  // select takes a mask as wide as its values.
  const Type& values = IsBool(result) ? type : result;
  Code mask = x[0];
  if (ByteWidth(values.element) != ByteWidth(type.element)) {
    mask = Call(absl::StrCat("convert_", SignedTypeName(values)), {mask});
  }
  return Call("select", {x[2], x[1], mask});
}

Code Apply(ScalarOp op, const Type& type, const Type& result, absl::Span<const Code> operands) {
  switch (op) {
    case ScalarOp::kIdentity:
      return operands[0];
    case ScalarOp::kCast:
      return ConvertValue(operands[0], type, result);
    case ScalarOp::kSelect:
      return ApplySelect(type, result, operands);
    case ScalarOp::kLogicalNot:
    case ScalarOp::kLogicalAnd:
    case ScalarOp::kLogicalOr:
      return ApplyLogic(op, type, operands);
    default:
      break;
  }
  const bool has_operator = !InfixOperator(op).sign.empty();
  if (IsBool(type) && !(has_operator && ReturnsBool(op))) {
    const bool is_bitwise = op >= ScalarOp::kBitAnd && op <= ScalarOp::kBitXor;
    return is_bitwise ? ApplyInfix(op, type, result, operands) : ApplyBool(op, operands);
  }
  if (has_operator) return ApplyInfix(op, type, result, operands);
  return IsFloat(type.element) ? ApplyFloat(op, type, operands)
                               : ApplyInteger(op, type, operands);
}

// ---- Memory ----

absl::string_view SpaceName(MemorySpace space) {
  switch (space) {
    case MemorySpace::kGlobal: return "__global ";
    case MemorySpace::kLocal: return "__local ";
    case MemorySpace::kPrivate: return "";
  }
  return "";
}

// 16-bit float arrays of our own are declared as ushort: half needs an extension there.
std::string StoredTypeName(const Type& type, MemorySpace space) {
  if (type.element == DataType::kFloat16 && space != MemorySpace::kGlobal) return "ushort";
  if (type.lanes > 1) return TypeName(type);
  return MemoryTypeName(type.element);
}

std::string HalfPointer(const Place& place, absl::string_view qualifier) {
  if (place.space == MemorySpace::kGlobal) return place.buffer;
  return absl::StrCat("(", qualifier, SpaceName(place.space), "half*)", place.buffer);
}

// buffer + index, or the buffer itself.
std::string Address(const std::string& buffer, const Code& index) {
  if (index.literal == 0) return buffer;
  return absl::StrCat(buffer, " + ", Parenthesized(index, Precedence::kMultiplicative));
}

Code Element(const Place& place) {
  return Code{absl::StrCat(place.buffer, "[", place.index.text, "]")};
}

// The element or elements in the type in which the stored type is computed.
Code LoadRaw(const Place& place, int lanes) {
  if (place.lanes > 1) return Element(place);
  const std::string count = lanes == 1 ? "" : absl::StrCat(lanes);
  if (place.stored == DataType::kFloat16) {
    const std::string pointer = HalfPointer(place, "const ");
    if (lanes == 1) return Code{absl::StrCat("vload_half(", place.index.text, ", ", pointer, ")")};
    return Code{absl::StrCat("vload_half", lanes, "(0, ", Address(pointer, place.index), ")")};
  }
  Code loaded = Element(place);
  if (lanes > 1) {
    loaded = Code{absl::StrCat("vload", lanes, "(0, ", Address(place.buffer, place.index), ")")};
  }
  if (place.stored != DataType::kBFloat16) return loaded;
  return Call(absl::StrCat("tt_from_bfloat16_ushort", count), {loaded});
}

Code LoadValue(const Place& place, const Type& type) {
  const Type raw{ComputeType(place.stored), type.lanes};
  return ConvertValue(LoadRaw(place, type.lanes), raw, type);
}

std::string StoreValue(const Place& place, const Type& type, const Code& value) {
  const Type raw{ComputeType(place.stored), type.lanes};
  Code converted = ConvertValue(value, type, raw);
  if (place.lanes > 1) return absl::StrCat(Element(place).text, " = ", converted.text);
  if (place.stored == DataType::kFloat16) {
    const std::string pointer = HalfPointer(place, "");
    if (type.lanes == 1) {
      return absl::StrCat("vstore_half_rte(", converted.text, ", ", place.index.text, ", ", pointer,
                          ")");
    }
    return absl::StrCat("vstore_half", type.lanes, "_rte(", converted.text, ", 0, ",
                        Address(pointer, place.index), ")");
  }
  if (place.stored == DataType::kBFloat16) {
    converted = Call(absl::StrCat("tt_to_bfloat16_", TypeName(raw)), {converted});
  }
  if (type.lanes == 1) return absl::StrCat(Element(place).text, " = ", converted.text);
  return absl::StrCat("vstore", type.lanes, "(", converted.text, ", 0, ",
                      Address(place.buffer, place.index), ")");
}

std::string AtomicUpdate(const Place& place, ScalarOp op, const Type& type, const Code& value) {
  const DataType stored = place.stored;
  const Code converted = ConvertValue(value, type, Type{ComputeType(stored), 1});
  const std::string address = Address(place.buffer, place.index);
  const bool has_builtin = (stored == DataType::kInt32 || stored == DataType::kUInt32) &&
                           op != ScalarOp::kMul;
  if (has_builtin) {
    return absl::StrCat("atomic_", Name(op), "(", address, ", ", converted.text, ")");
  }
  const std::string stored_name = stored == DataType::kBool       ? "bool"
                                  : stored == DataType::kBFloat16 ? "bfloat16"
                                                                  : MemoryTypeName(stored);
  const char* space = place.space == MemorySpace::kLocal ? "local" : "global";
  return absl::StrCat("tt_atomic_", Name(op), "_", stored_name, "_", space, "(", address, ", ",
                      converted.text, ")");
}

Code WorkIndexCall(sem::WorkId id, int dimension, DataType type) {
  const char* function = id == sem::WorkId::kGlobal  ? "get_global_id"
                         : id == sem::WorkId::kGroup ? "get_group_id"
                                                     : "get_local_id";
  return CastTo(TypeName(Type{type, 1}), Code{absl::StrCat(function, "(", dimension, ")")});
}

// PoCL turns fma() into one machine instruction and mad() into a product and a sum, which halves
// the speed of a contraction; on GPUs both are the instruction.
Code MultiplyAdd(const Code& a, const Code& b, const Code& sum, const Type& type, bool has_fma) {
  if (has_fma && IsFloat(type.element)) return Call("fma", {a, b, sum});
  const Code product = Infix("*", Precedence::kMultiplicative, a, b);
  return Wrapped(type, Infix("+", Precedence::kAdditive, sum, product));
}

std::string Attributes(const sem::Kernel& kernel) {
  return absl::StrCat("__attribute__((reqd_work_group_size(", absl::StrJoin(kernel.local_size, ", "),
                      "))) ");
}

}  // namespace

codegen::Dialect OpenClDialect(const OpenClDialectOptions& options) {
  codegen::Dialect dialect;
  dialect.name = "opencl-c-1.2";
  dialect.format = "opencl-c";
  // A product and a sum are rounded one by one unless MultiplyAdd says otherwise, so that results
  // do not depend on what a driver's compiler likes to fuse.
  dialect.prologue = "#pragma OPENCL FP_CONTRACT OFF\n";
  dialect.definition = Definition;
  dialect.kernel_qualifier = "__kernel";
  dialect.global_space = "__global ";
  dialect.local_space = "__local ";
  dialect.constant_qualifier = "const ";
  dialect.restrict_qualifier = "restrict ";
  dialect.barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  dialect.unroll = "#pragma unroll";
  dialect.type_name = TypeName;
  dialect.stored_type_name = StoredTypeName;
  dialect.work_index = WorkIndexCall;
  dialect.apply = Apply;
  dialect.load = LoadValue;
  dialect.store = StoreValue;
  dialect.atomic_update = AtomicUpdate;
  dialect.float_literal = FloatLiteral;
  dialect.int_literal = IntLiteral;
  dialect.multiply_add = [has_fma = options.has_fma](const Code& a, const Code& b, const Code& sum,
                                                     const Type& type) {
    return MultiplyAdd(a, b, sum, type, has_fma);
  };
  dialect.lane = [](const Code& vector, int lane) {
    return Code{absl::StrCat(Parenthesized(vector, Precedence::kPrimary), ".", LaneName(lane))};
  };
  dialect.attributes = Attributes;
  return dialect;
}

}  // namespace tartan::opencl
