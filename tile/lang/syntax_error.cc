// SPDX-License-Identifier: Apache-2.0
// The message of a syntax error: the broken rule if it can be guessed, otherwise the expected
// tokens.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/lang/parse_context.h"

namespace tartan::lang {
namespace {

using Names = std::vector<absl::string_view>;

bool Contains(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Capitalized(absl::string_view name) {
  std::string result(name);
  const size_t first = result.find_first_not_of('_');
  if (first != std::string::npos) result[first] = absl::ascii_toupper(result[first]);
  return result;
}

// The statement to which the end of `before` belongs.
absl::string_view CurrentStatement(absl::string_view before) {
  return before.substr(before.find_last_of(";{") + 1);
}

// "" if no rule is recognised.
std::string BrokenRule(absl::string_view got, absl::string_view kind, const Names& expected,
                       absl::string_view before) {
  const absl::string_view statement = CurrentStatement(before);
  const bool in_body = before.find('{') != absl::string_view::npos;
  if (kind == "end of text" && Contains(expected, "}")) {
    return "the function is not closed: '}' is missing";
  }
  if (kind == "end of text" && Contains(expected, "function")) {
    return "the text has no function: expected function (...) -> (...) { ... }";
  }
  if (kind == "index name" && Contains(expected, "tensor name") &&
      !Contains(expected, "index name")) {
    return absl::StrCat("names of tensors and sizes begin with a capital letter: write '",
                        Capitalized(got), "' or '#", got, "' instead of '", got, "'");
  }
  if (kind == "9223372036854775808")
    return "the integer 9223372036854775808 does not fit into 64 bits";
  const bool comparison =
      kind == "<=" || kind == ">" || kind == ">=" || kind == "==" || kind == "!=" || kind == "<";
  if (comparison && Contains(expected, "<") && !Contains(expected, ">")) {
    return "a constraint is written 'polynomial < size' and means 0 <= polynomial < size";
  }
  if (comparison && Contains(expected, "&&")) {
    return "comparisons do not chain: write A < B && B < C";
  }
  if (in_body && kind == "[" && Contains(expected, "+") &&
      statement.find('=') != absl::string_view::npos) {
    return "an elementwise expression has no indices: read elements in a contraction such as "
           "O[i : N] = +(A[i])";
  }
  if (in_body && Contains(expected, "?") && Contains(expected, ")") && expected.size() == 2) {
    return "a contraction combines at most two tensors (three as A[..] == B[..] ? C[..]): use "
           "another statement for the rest";
  }
  if (in_body && Contains(expected, "==") && Contains(expected, "*") && Contains(expected, ")") &&
      !Contains(expected, "/")) {
    return "a contraction combines its tensors by *, + or ==: put other operations into an "
           "elementwise statement";
  }
  if (Contains(expected, "index name") && kind == "number") {
    return "index polynomials have integer coefficients: divide by an integer instead";
  }
  if (Contains(expected, "<") && Contains(expected, "+") && !Contains(expected, ">") &&
      kind == ";") {
    return "the constraint has no bound: write 'polynomial < size'";
  }
  if (Contains(expected, ";") && !Contains(expected, "=")) {
    return absl::StrCat("expected ';' before ", kind == "end of text"
                                                    ? "the end of the text"
                                                    : absl::StrCat("'", got, "'"));
  }
  return "";
}

// The expected tokens in readable form: single tokens quoted, families by their name.
std::string Describe(const Names& expected) {
  Names shown;
  const bool expression = Contains(expected, "~") && Contains(expected, "number");
  const bool polynomial =
      !expression && Contains(expected, "index name") && Contains(expected, "integer");
  const bool operators = Contains(expected, "+") && Contains(expected, "/");
  std::vector<std::string> parts;
  if (expression) parts.push_back("an expression");
  if (polynomial) parts.push_back("an index polynomial");
  for (const absl::string_view name : expected) {
    const bool start = name == "tensor name" || name == "index name" || name == "integer" ||
                       name == "number" || name == "~" || name == "!" || name == "(" ||
                       name == "-" || name == "9223372036854775808";
    if ((expression || polynomial) && start) continue;
    if (operators && name.find_first_not_of("+-*/%<>=!&|^?") == absl::string_view::npos) continue;
    const bool family = name == "tensor name" || name == "index name" || name == "integer";
    parts.push_back(family ? absl::StrCat(name == "tensor name" ? "a " : "an ", name)
                           : absl::StrCat("'", name, "'"));
  }
  if (operators) parts.push_back("an operator");
  if (parts.size() == 1) return parts[0];
  const std::string last = parts.back();
  parts.pop_back();
  return absl::StrCat(absl::StrJoin(parts, ", "), " or ", last);
}

}  // namespace

std::string ExplainSyntaxError(absl::string_view got, absl::string_view got_kind,
                               const std::vector<absl::string_view>& expected,
                               absl::string_view before) {
  std::string rule = BrokenRule(got, got_kind, expected, before);
  if (!rule.empty()) return rule;
  const std::string unexpected = got_kind == "end of text" ? "the text ends too early"
                                                           : absl::StrCat("unexpected '", got, "'");
  if (expected.empty()) return unexpected;
  return absl::StrCat(unexpected, ": expected ", Describe(expected));
}

}  // namespace tartan::lang
