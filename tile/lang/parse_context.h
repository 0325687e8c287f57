// SPDX-License-Identifier: Apache-2.0
// State that the lexer and the grammar share while one text is parsed; private to the parser.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "tile/lang/ast.h"
#include "tile/lang/diagnostics.h"

namespace tartan::lang {

// A range of the text; the grammar's location type.
struct SourceRange {
  Position begin;
  Position end;  // one past the last character
};

// An expression under construction and the height of its tree, which is bounded so that code may
// recurse over trees.
struct ParsedExpr {
  ExprPtr expr;
  int height = 0;
};

class ParseContext {
 public:
  ParseContext(absl::string_view text, absl::string_view file) : source_{file, text} {}

  // For the lexer: advances over `text`, which becomes range().
  void Advance(absl::string_view text);
  const SourceRange& range() const { return range_; }
  size_t offset() const { return offset_; }  // of the first character of the current token
  // The position after the last non-blank character before the current token.
  Position EndOfCode() const;
  // For the lexer: counts tokens that grow the parser's stack, and reports when there are too many.
  void CountNesting(char token);

  // Reports an error. After the tenth one the lexer ends the text.
  void Report(Position position, absl::string_view message);
  // Reports an error, and ends the text at once.
  void Stop(Position position, absl::string_view message);
  bool stopped() const { return stopped_; }
  const std::vector<std::string>& errors() const { return errors_; }
  const SourceText& source() const { return source_; }

  // For the grammar: builders of trees.
  ParsedExpr Integer(const SourceRange& range, int64_t value);
  ParsedExpr Float(const SourceRange& range, double value);
  ParsedExpr NameOf(const SourceRange& range, std::string name);
  ParsedExpr Unary(const SourceRange& range, absl::string_view function, ParsedExpr operand);
  ParsedExpr Binary(const SourceRange& range, absl::string_view function, ParsedExpr a,
                    ParsedExpr b);
  ParsedExpr CallOf(const SourceRange& range, std::string function,
                    std::vector<ParsedExpr> arguments);

  // Ends the function whose outputs and statements are in `current`.
  void EndFunction(Position position, std::string name, std::vector<Parameter> inputs);
  // The main function, with the named functions as its rules. Reports if there is none.
  Function TakeFunction();

  Function current;  // the function being parsed

 private:
  SourceText source_;
  SourceRange range_{{1, 1}, {1, 1}};
  size_t offset_ = 0;
  size_t end_offset_ = 0;
  int brackets_ = 0;
  int prefixes_ = 0;
  int ternaries_ = 0;
  bool stopped_ = false;
  std::vector<std::string> errors_;
  std::vector<Function> functions_;
  absl::flat_hash_map<std::string, int> function_lines_;  // by name
};

// The text of a syntax error. `got` is the unexpected token and `got_kind` its token name;
// `expected` are the valid tokens, and `before` is the text before it.
std::string ExplainSyntaxError(absl::string_view got, absl::string_view got_kind,
                               const std::vector<absl::string_view>& expected,
                               absl::string_view before);

}  // namespace tartan::lang
