// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_expressions.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {
namespace {

using codegen::Code;
using codegen::Parenthesized;
using codegen::Precedence;
using loop::Type;

// Returns the shortest decimal that reads back as the same value.
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

}  // namespace

bool IsNarrowInteger(const Type& type) {
  return type.lanes == 1 && IsInteger(type.element) && ByteWidth(type.element) < 4;
}

Code Call(absl::string_view function, absl::Span<const Code> arguments) {
  return Code{absl::StrCat(
      function, "(",
      absl::StrJoin(arguments, ", ",
                    [](std::string* out, const Code& code) { absl::StrAppend(out, code.text); }),
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
  const bool doubled = absl::StartsWith(operand.text, sign);  // "--" is a different operator
  const std::string text =
      doubled ? absl::StrCat("(", operand.text, ")") : Parenthesized(operand, Precedence::kUnary);
  return Code{absl::StrCat(sign, text), Precedence::kUnary};
}

// Prints a left-associative operator. Operands of shifts, comparisons and bit operators get
// redundant parentheses for readers and compiler warnings. Logical operators get them only around
// other logical operators.
Code Infix(absl::string_view sign, Precedence precedence, const Code& a, const Code& b) {
  const bool is_logic =
      precedence == Precedence::kLogicalAnd || precedence == Precedence::kLogicalOr;
  const auto above = static_cast<Precedence>(static_cast<uint8_t>(precedence) + 1);
  const Precedence least = is_logic                              ? Precedence::kEquality
                           : precedence >= Precedence::kAdditive ? above
                                                                 : Precedence::kAdditive;
  const Precedence left = a.precedence == precedence ? precedence : least;
  const Precedence right = is_logic && b.precedence == precedence ? precedence : least;
  return Code{absl::StrCat(Parenthesized(a, left), " ", sign, " ", Parenthesized(b, right)),
              precedence};
}

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
    Code vector{absl::StrCat("(", TypeName(type), ")(", text, ")"), Precedence::kUnary};
    vector.in_all_lanes = value;
    return vector;
  }
  return Code{text, text[0] == '-' ? Precedence::kUnary : Precedence::kPrimary, value};
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
    Code vector{absl::StrCat("(", TypeName(type), ")(", text, ")"), Precedence::kUnary};
    vector.in_all_lanes = value;
    return vector;
  }
  return Code{text, text[0] == '-' ? Precedence::kUnary : Precedence::kPrimary};
}

}  // namespace tartan::opencl
