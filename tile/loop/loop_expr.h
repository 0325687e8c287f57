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

// A scalar, or a vector of 2, 3, 4, 8 or 16 lanes. Load converts 16-bit floats to float32, and
// Store converts back. An expression of a 16-bit float type is a float32 rounded to it; only casts
// produce and accept it. Vectors of bool are intermediate results of comparisons, logic and
// kSelect; variables cannot have that type.
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
// `lanes` consecutive elements from `index` on. `is_aligned`: `index` is a multiple of `lanes`;
// buffers and scalar arrays begin on vector boundaries. An array declared with a vector type is
// indexed in whole vectors, and the expression has its lanes.
struct Load {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  bool is_aligned = false;
};
// An elementwise scalar operation. Operands have the expression's type, with these exceptions:
// - comparisons, kIsNan, kIsInf: the operands have any type, the result is bool;
// - logic: the operands are bool;
// - kSelect: the first operand is a bool condition, scalar or with the expression's lanes;
// - kCast: converts the type; from a scalar to lanes it splats.
//
// Corner cases are defined in scalar_value.h, with one exception: signed arithmetic on work
// indices, loop variables and constants alone must not overflow. The code that builds the kernel
// ensures this.
struct Apply {
  ScalarOp op;
  std::vector<ExprPtr> operands;
};
// accumulator + a * b, fused with one rounding if the device has fast FMA, else with two.
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
// Lane i is element lanes[i] of the concatenation of vectors `a` and `b`, which have the result's
// type.
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
