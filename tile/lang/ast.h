// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a Tile function as written; sizes are symbols. README.md has the grammar and
// meaning of the language.
//
// Names are stored in their shortest spelling. The first character other than '_' determines the
// class: capital letters begin tensors and sizes, small letters index variables and functions. A
// prefix '#' or '$' reverses that ("#x" is a tensor, "$X" an index variable).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/base/scalar_op.h"

namespace tartan::lang {

// 1-based, columns in bytes; 0 if there is no text (a tree built by code).
struct Position {
  int line = 0;
  int column = 0;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct IntLiteral {
  int64_t value;
};  // may be negative: -3 is a literal
struct FloatLiteral {
  double value;
};  // inf() and nan() are literals too
struct Name {
  std::string name;
};  // a tensor, a size or (in index polynomials) an index variable
// Operators are calls of the functions they denote: a + b is add(a, b).
struct Call {
  std::string function;
  std::vector<ExprPtr> arguments;
};

struct Expr {
  Position position;  // of the operator for binary operations, otherwise of the first character
  std::variant<IntLiteral, FloatLiteral, Name, Call> node;
};

// A tensor with index polynomials: I[n, 2*x + i]. Polynomials are Exprs over index variables (lower
// case), sizes (upper case) and integers.
struct TensorAccess {
  Position position;
  std::string tensor;
  std::vector<ExprPtr> indices;
};

struct Constraint {  // 0 <= poly < range
  ExprPtr poly;
  ExprPtr range;
};

struct Contraction {
  Aggregation aggregation = Aggregation::kSum;
  Combination combination = Combination::kNone;
  TensorAccess output;
  std::vector<ExprPtr> output_dims;
  std::vector<TensorAccess> inputs;
  std::vector<Constraint> constraints;
  std::string default_tensor;  // empty: none
  Position default_position;
  bool no_defract = false;
};

struct Assignment {
  std::string target;
  ExprPtr value;
};

struct Attribute {
  Position position;
  std::string name;
  std::vector<std::string> arguments;
};

struct Statement {
  Position position;  // of the target
  std::vector<Attribute> attributes;
  std::variant<Assignment, Contraction> node;
};

struct Parameter {
  Position position;
  std::string name;
  bool has_dims = false;                // false: any rank
  std::vector<std::string> dims;        // size symbols; a number is allowed, too, and must agree
  std::vector<Position> dim_positions;  // one per dim, or none
};

struct Function {
  Position position;
  std::string name;  // empty for the main function of a text
  std::vector<Parameter> inputs;
  std::vector<std::string> outputs;
  std::vector<Position> output_positions;  // one per output, or none
  std::vector<Statement> statements;
  // The named functions of the text, to which custom_gradient refers. Rules have no rules.
  std::vector<Function> rules;
};

// The name that the statement defines.
const std::string& TargetOf(const Statement& statement);

// Equality up to positions.
bool Equal(const Expr& a, const Expr& b);
bool Equal(const Function& a, const Function& b);

// Returns whether the name denotes a tensor or size, as opposed to an index variable or function.
bool IsTensorName(absl::string_view name);

// The name without its escape, as users of a function know it: "x" for "#x".
absl::string_view PlainName(absl::string_view name);

}  // namespace tartan::lang
