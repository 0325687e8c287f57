// SPDX-License-Identifier: Apache-2.0
// What the lexer and the grammar share while one text is parsed; private to the parser.
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

// A stretch of the text; the grammar's location type.
struct SourceRange {
  Position begin;
  Position end;  // one past the last character
};

// An expression under construction and the height of its tree, which is bounded so that code that
// walks trees may recurse.
struct ParsedExpr {
  ExprPtr expr;
  int height = 0;
};

class ParseContext {
 public:
  ParseContext(absl::string_view text, absl::string_view file) : source_{file, text} {}

  // The lexer: moves over `text`; range() is then its place.
  void Advance(absl::string_view text);
  const SourceRange& range() const { return range_; }
  size_t offset() const { return offset_; }  // of the first character of the current token
  // After the last character before the current token that is no white space.
  Position EndOfCode() const;
  // The lexer: counts what makes the parser's stack grow; reports where that is too much.
  void CountNesting(char token);

  // After the tenth error the lexer ends the text.
  void Report(Position position, absl::string_view message);
  // Reports, and ends the text at once.
  void Stop(Position position, absl::string_view message);
  bool stopped() const { return stopped_; }
  const std::vector<std::string>& errors() const { return errors_; }
  const SourceText& source() const { return source_; }

  // The grammar: builds trees.
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
  // The function without a name, with the others among its rules. Reports where there is none.
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

// The text of a syntax error: what stands there (`got`, its token's name `got_kind`), what could
// stand there, and the text before it.
std::string ExplainSyntaxError(absl::string_view got, absl::string_view got_kind,
                               const std::vector<absl::string_view>& expected,
                               absl::string_view before);

}  // namespace tartan::lang
