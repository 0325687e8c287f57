// SPDX-License-Identifier: Apache-2.0
// Prints a syntax tree as canonical text: one statement per line, with minimal parentheses.
#include <charconv>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

// Operator precedences, in the order of grammar.y.
enum Precedence {
  kTernary,
  kOrOr,
  kAndAnd,
  kOr,
  kXor,
  kAnd,
  kEquality,
  kComparison,
  kShift,
  kSum,
  kProduct,
  kPrefix,
  kPrimary
};

struct Operator {
  absl::string_view function;
  absl::string_view symbol;
  Precedence precedence;
};

constexpr Operator kBinary[] = {{"add", "+", kSum},
                                {"sub", "-", kSum},
                                {"mul", "*", kProduct},
                                {"div", "/", kProduct},
                                {"mod", "%", kProduct},
                                {"bit_left", "<<", kShift},
                                {"bit_right", ">>", kShift},
                                {"cmp_lt", "<", kComparison},
                                {"cmp_le", "<=", kComparison},
                                {"cmp_gt", ">", kComparison},
                                {"cmp_ge", ">=", kComparison},
                                {"cmp_eq", "==", kEquality},
                                {"cmp_ne", "!=", kEquality},
                                {"bit_and", "&", kAnd},
                                {"bit_xor", "^", kXor},
                                {"bit_or", "|", kOr},
                                {"logical_and", "&&", kAndAnd},
                                {"logical_or", "||", kOrOr}};

constexpr Operator kPrefixOperators[] = {
    {"neg", "-", kPrefix}, {"bit_not", "~", kPrefix}, {"logical_not", "!", kPrefix}};

template <size_t n>
const Operator* Find(const Operator (&operators)[n], absl::string_view function) {
  for (const Operator& op : operators) {
    if (op.function == function) return &op;
  }
  return nullptr;
}

bool IsNumber(const Expr& expr) {
  return std::holds_alternative<IntLiteral>(expr.node) ||
         std::holds_alternative<FloatLiteral>(expr.node);
}

// The shortest text that parses to the same double.
std::string FloatText(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan()" : "nan()";
  if (std::isinf(value)) return value < 0 ? "-inf()" : "inf()";
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  void Print(const Expr& expr, Precedence context) {
    Match(
        expr.node, [&](const IntLiteral& x) { absl::StrAppend(&text_, x.value); },
        [&](const FloatLiteral& x) { text_ += FloatText(x.value); },
        [&](const Name& x) { text_ += x.name; }, [&](const Call& x) { PrintCall(x, context); });
  }

  void PrintList(const std::vector<ExprPtr>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text_ += ", ";
      Print(*list[i], kTernary);
    }
  }

  void Print(const TensorAccess& access) {
    text_ += access.tensor;
    text_ += '[';
    PrintList(access.indices);
    text_ += ']';
  }

  void Print(const Contraction& contraction);
  void Print(const Statement& statement);
  void Print(const Function& function);

  std::string text() && { return std::move(text_); }

 private:
  void PrintCall(const Call& call, Precedence context);
  void PrintBinary(const Call& call, const Operator& op);

  std::string text_;
};

void Printer::PrintBinary(const Call& call, const Operator& op) {
  // Comparisons do not associate: both operands need a higher precedence.
  const bool chains = op.precedence != kEquality && op.precedence != kComparison;
  const auto tighter = static_cast<Precedence>(op.precedence + 1);
  Print(*call.arguments[0], chains ? op.precedence : tighter);
  absl::StrAppend(&text_, " ", op.symbol, " ");
  Print(*call.arguments[1], tighter);
}

void Printer::PrintCall(const Call& call, Precedence context) {
  const auto parenthesized = [&](Precedence own, auto&& print) {
    const bool needed = own < context;
    if (needed) text_ += '(';
    print();
    if (needed) text_ += ')';
  };
  const Operator* binary = call.arguments.size() == 2 ? Find(kBinary, call.function) : nullptr;
  const Operator* prefix =
      call.arguments.size() == 1 ? Find(kPrefixOperators, call.function) : nullptr;
  // "-3" would parse as a number.
  if (prefix != nullptr && call.function == "neg" && IsNumber(*call.arguments[0])) prefix = nullptr;
  if (binary != nullptr) {
    parenthesized(binary->precedence, [&] { PrintBinary(call, *binary); });
  } else if (prefix != nullptr) {
    parenthesized(kPrefix, [&] {
      absl::StrAppend(&text_, prefix->symbol);
      Print(*call.arguments[0], kPrefix);
    });
  } else if (call.function == "cond" && call.arguments.size() == 3) {
    parenthesized(kTernary, [&] {
      Print(*call.arguments[0], kOrOr);
      text_ += " ? ";
      Print(*call.arguments[1], kTernary);
      text_ += " : ";
      Print(*call.arguments[2], kTernary);
    });
  } else {
    text_ += call.function;
    text_ += '(';
    PrintList(call.arguments);
    text_ += ')';
  }
}

void Printer::Print(const Contraction& contraction) {
  text_ += contraction.output.tensor;
  text_ += '[';
  PrintList(contraction.output.indices);
  if (!contraction.output_dims.empty()) {
    text_ += " : ";
    PrintList(contraction.output_dims);
  }
  absl::StrAppend(&text_, "] = ", Symbol(contraction.aggregation), "(");
  const absl::string_view combination = contraction.combination == Combination::kCond
                                            ? Symbol(Combination::kEqual)
                                            : Symbol(contraction.combination);
  for (size_t i = 0; i < contraction.inputs.size(); ++i) {
    if (i == 1) absl::StrAppend(&text_, " ", combination, " ");
    if (i == 2) text_ += " ? ";
    Print(contraction.inputs[i]);
  }
  text_ += ')';
  for (const Constraint& constraint : contraction.constraints) {
    text_ += ", ";
    Print(*constraint.poly, kSum);
    text_ += " < ";
    Print(*constraint.range, kTernary);
  }
  if (contraction.no_defract) text_ += " no_defract";
  if (!contraction.default_tensor.empty()) {
    absl::StrAppend(&text_, " default ", contraction.default_tensor);
  }
}

void Printer::Print(const Statement& statement) {
  text_ += "  ";
  for (const Attribute& attribute : statement.attributes) {
    absl::StrAppend(&text_, "[[", attribute.name);
    if (!attribute.arguments.empty()) {
      absl::StrAppend(&text_, "(", absl::StrJoin(attribute.arguments, ", "), ")");
    }
    text_ += "]] ";
  }
  Match(
      statement.node,
      [&](const Assignment& x) {
        absl::StrAppend(&text_, x.target, " = ");
        Print(*x.value, kTernary);
      },
      [&](const Contraction& x) { Print(x); });
  text_ += ";\n";
}

void Printer::Print(const Function& function) {
  absl::StrAppend(&text_, "function ", function.name, function.name.empty() ? "" : " ", "(");
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const Parameter& input = function.inputs[i];
    absl::StrAppend(&text_, i > 0 ? ", " : "", input.name);
    if (input.has_dims) absl::StrAppend(&text_, "[", absl::StrJoin(input.dims, ", "), "]");
  }
  absl::StrAppend(&text_, ") -> (", absl::StrJoin(function.outputs, ", "), ") {\n");
  for (const Statement& statement : function.statements) Print(statement);
  text_ += "}\n";
  for (const Function& rule : function.rules) Print(rule);
}

}  // namespace

std::string Print(const Function& function) {
  Printer printer;
  printer.Print(function);
  return std::move(printer).text();
}

}  // namespace tartan::lang
