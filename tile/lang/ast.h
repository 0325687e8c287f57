// The syntax tree of a Tile function, as written: sizes are still symbols. The grammar and the
// meaning of the language are in README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/scalar_op.h"

namespace tartan::lang {

// 1-based; 0 where there is no text (a tree built by hand).
struct Position {
  int line = 0;
  int column = 0;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct IntLiteral { int64_t value; };
struct FloatLiteral { double value; };
struct Name { std::string name; };  // a tensor, a size or (in index polynomials) an index variable
// Operators are calls of the functions they stand for: a + b is add(a, b).
struct Call {
  std::string function;
  std::vector<ExprPtr> arguments;
};

struct Expr {
  Position position;
  std::variant<IntLiteral, FloatLiteral, Name, Call> node;
};

// A tensor with index polynomials: I[n, 2*x + i]. Polynomials are Exprs over index variables
// (lower case), sizes (upper case) and integers.
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
  bool no_defract = false;
};

struct Assignment {
  std::string target;
  ExprPtr value;
};

struct Attribute {
  std::string name;
  std::vector<std::string> arguments;
};

struct Statement {
  Position position;
  std::vector<Attribute> attributes;
  std::variant<Assignment, Contraction> node;
};

struct Parameter {
  Position position;
  std::string name;
  bool has_dims = false;          // false: any rank
  std::vector<std::string> dims;  // size symbols; a number is allowed too and must agree
};

struct Function {
  std::vector<Parameter> inputs;
  std::vector<std::string> outputs;
  std::vector<Statement> statements;
};

}  // namespace tartan::lang
