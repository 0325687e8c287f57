// SPDX-License-Identifier: Apache-2.0
// The expressions of the loop IR (loop_ir.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/data_type.h"
#include "tile/base/scalar_op.h"

namespace tartan::loop {

// A scalar, or a vector of 2, 3, 4, 8 or 16 lanes. 16-bit floats: Load converts them to float32 and
// Store back; an expression of such a type is a float32 rounded to it, given and taken by casts
// alone. Vectors of bool are intermediates of comparisons, logic and kSelect, and no variables.
struct Type {
  DataType element = DataType::kInvalid;
  int lanes = 1;

  bool operator==(const Type&) const = default;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct IntLiteral {
  int64_t value;
};  // splatted where the type has lanes
struct FloatLiteral {
  double value;
};  // may be infinite or NaN
struct Variable {
  std::string name;
};  // declared variable or scalar parameter
// Element `index` of a buffer parameter or array, converted to the expression's type. With lanes:
// `lanes` consecutive elements from `index` on, which is a multiple of `lanes` where `is_aligned`
// (buffers and arrays of scalars begin on a boundary of vectors). An array declared with a vector
// type is indexed in whole vectors, and the expression has its lanes.
struct Load {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  bool is_aligned = false;
};
// A function of scalars, lane by lane. Operands have the expression's type, except: comparisons,
// kIsNan and kIsInf (the operands' type is theirs, the result bool), logic (bool), kSelect (bool
// condition first, of the expression's lanes or scalar) and kCast (from a scalar to lanes: a
// splat). The corner cases are those of scalar_value.h, with one exception:
// signed arithmetic on work indices, loop variables and literals alone does not overflow, which
// whoever builds the kernel sees to.
struct Apply {
  ScalarOp op;
  std::vector<ExprPtr> operands;
};
// acc + a * b in one rounding where the device is quick at that, or two.
struct MultiplyAdd {
  ExprPtr a, b, accumulator;
};
enum class WorkId : uint8_t { kGlobal, kGroup, kLocal };
struct WorkIndex {
  WorkId id;
  int dimension;
};
struct Lane {  // one element of a vector value
  ExprPtr vector;
  int lane;
};
// A vector of elements of two vectors of its type: lane i is element lanes[i] of `a` and `b` side
// by side.
struct Shuffle {
  ExprPtr a, b;
  std::vector<int> lanes;
};

struct Expr {
  Type type;
  std::variant<IntLiteral, FloatLiteral, Variable, Load, Apply, MultiplyAdd, WorkIndex, Lane,
               Shuffle>
      node;
};

}  // namespace tartan::loop
