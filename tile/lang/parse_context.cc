// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/parse_context.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tartan::lang {
namespace {

constexpr size_t kMaxErrors = 10;
constexpr int kMaxBrackets = 250;
constexpr int kMaxPrefixes = 250;
constexpr int kMaxTernaries = 500;
constexpr int kMaxHeight = 1000;

ExprPtr Make(Position position, decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{position, std::move(node)});
}

}  // namespace

void ParseContext::Advance(absl::string_view text) {
  range_.begin = range_.end;
  offset_ = end_offset_;
  end_offset_ += text.size();
  for (const char c : text) {
    if (c == '\n') {
      ++range_.end.line;
      range_.end.column = 1;
    } else {
      ++range_.end.column;
    }
  }
}

Position ParseContext::EndOfCode() const {
  const absl::string_view code =
      absl::StripTrailingAsciiWhitespace(source_.text.substr(0, offset_));
  const size_t line_start = code.rfind('\n') + 1;  // 0 if there is none
  const auto lines = std::count(code.begin(), code.end(), '\n');
  return {static_cast<int>(lines) + 1, static_cast<int>(code.size() - line_start) + 1};
}

void ParseContext::CountNesting(char token) {
  const bool prefix = token == '-' || token == '~' || token == '!';
  prefixes_ = prefix ? prefixes_ + 1 : 0;
  if (token == '(' || token == '[') ++brackets_;
  if (token == ')' || token == ']') --brackets_;
  if (token == '?') ++ternaries_;
  if (token == ';') brackets_ = ternaries_ = 0;
  if (brackets_ > kMaxBrackets || prefixes_ > kMaxPrefixes || ternaries_ > kMaxTernaries) {
    Stop(range_.begin, "the expression is nested too deeply: split it into several statements");
  }
}

void ParseContext::Report(Position position, absl::string_view message) {
  if (stopped_) return;
  errors_.push_back(FormatDiagnostic(source_, position, message));
  stopped_ = errors_.size() >= kMaxErrors;
}

void ParseContext::Stop(Position position, absl::string_view message) {
  Report(position, message);
  stopped_ = true;
}

void ParseContext::EndFunction(Position position, std::string name, std::vector<Parameter> inputs) {
  const auto [first, inserted] = function_lines_.emplace(name, position.line);
  if (!inserted) {
    Report(position,
           absl::StrCat("a second function ",
                        name.empty() ? "without a name" : absl::StrCat("'", name, "'"),
                        "; the first is in line ", first->second,
                        ": only the main function has no name, and each rule of custom_gradient "
                        "has its own, as in function rule (X, Y, DY) -> (DX)"));
  }
  current.position = position;
  current.name = std::move(name);
  current.inputs = std::move(inputs);
  functions_.push_back(std::move(current));
  current = Function();
}

Function ParseContext::TakeFunction() {
  Function main;
  std::vector<Function> rules;
  bool found = false;
  for (Function& function : functions_) {
    if (!function.name.empty()) {
      rules.push_back(std::move(function));
    } else {
      main = std::move(function);
      found = true;
    }
  }
  if (!found && errors_.empty() && !rules.empty()) {
    Report(rules.front().position,
           "every function here is named, as rules of custom_gradient are: the main function of a "
           "text has no name, function (A) -> (B) { ... }");
  }
  main.rules = std::move(rules);
  return main;
}

ParsedExpr ParseContext::Integer(const SourceRange& range, int64_t value) {
  return {Make(range.begin, IntLiteral{value}), 1};
}

ParsedExpr ParseContext::Float(const SourceRange& range, double value) {
  return {Make(range.begin, FloatLiteral{value}), 1};
}

ParsedExpr ParseContext::NameOf(const SourceRange& range, std::string name) {
  return {Make(range.begin, Name{std::move(name)}), 1};
}

ParsedExpr ParseContext::Unary(const SourceRange& range, absl::string_view function,
                               ParsedExpr operand) {
  if (function == "neg" && operand.expr != nullptr) {
    // A sign before a number belongs to the number.
    if (const auto* literal = std::get_if<IntLiteral>(&operand.expr->node)) {
      if (literal->value != std::numeric_limits<int64_t>::min()) {
        return Integer(range, -literal->value);
      }
    }
    if (const auto* literal = std::get_if<FloatLiteral>(&operand.expr->node)) {
      return Float(range, -literal->value);
    }
  }
  std::vector<ParsedExpr> arguments;
  arguments.push_back(std::move(operand));
  return CallOf(range, std::string(function), std::move(arguments));
}

ParsedExpr ParseContext::Binary(const SourceRange& range, absl::string_view function, ParsedExpr a,
                                ParsedExpr b) {
  std::vector<ParsedExpr> arguments;
  arguments.push_back(std::move(a));
  arguments.push_back(std::move(b));
  return CallOf(range, std::string(function), std::move(arguments));
}

ParsedExpr ParseContext::CallOf(const SourceRange& range, std::string function,
                                std::vector<ParsedExpr> arguments) {
  if (arguments.empty()) {
    if (function == "inf") return Float(range, std::numeric_limits<double>::infinity());
    if (function == "nan") return Float(range, std::numeric_limits<double>::quiet_NaN());
  }
  int height = 0;
  Call call{std::move(function), {}};
  call.arguments.reserve(arguments.size());
  for (ParsedExpr& argument : arguments) {
    height = std::max(height, argument.height);
    call.arguments.push_back(std::move(argument.expr));
  }
  if (height >= kMaxHeight) {
    Stop(range.begin, absl::StrCat("the expression has more than ", kMaxHeight,
                                   " levels: split it into several statements"));
    // The tree is discarded; the constant keeps it well-formed until the parser ends.
    return Integer(range, 0);
  }
  return {Make(range.begin, std::move(call)), height + 1};
}

}  // namespace tartan::lang
