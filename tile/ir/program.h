// SPDX-License-Identifier: Apache-2.0
// The graph IR: one Tile function bound to concrete shapes, as operations in single-assignment
// form. Built by ProgramBuilder (program_builder.h), never edited in place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/scalar_op.h"
#include "tile/base/shape.h"
#include "tile/math/affine.h"

namespace tartan::ir {

// Position in Program::values.
using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;

// A scalar constant. A *weak* one (without suffix or cast) takes the type of the other operands: 2
// * X has the type of X if X is a float or the constant is an integer.
struct Constant {
  std::variant<int64_t, double> value;
  bool weak = true;

  double AsDouble() const {
    const auto* i = std::get_if<int64_t>(&value);
    return i != nullptr ? static_cast<double>(*i) : std::get<double>(value);
  }
  bool operator==(const Constant&) const = default;
};

// Applies op to every element after broadcasting the operands. Operands of different types are
// first converted to OperandType (type_rules.h). A cast's type is the result's type.
struct Elementwise {
  ScalarOp op = ScalarOp::kIdentity;
  std::vector<ValueId> operands;

  bool operator==(const Elementwise&) const = default;
};

// An access to a tensor at affine functions of the contraction's indices.
struct Access {
  ValueId tensor = kNoValue;          // kNoValue for the output
  std::vector<math::Affine> indices;  // one per dimension; coefficients may be rational
};
bool operator==(const Access& a, const Access& b);

// output[...] = aggregation(combination(inputs[...]...)) over all valid integer index values: those
// for which every access is in range and every constraint holds. Elements without valid indices are
// 0, or the elements of `default_value`. kAssign with two valid indices for one element is an
// error. kMax and kMin propagate NaN.
struct Contraction {
  Aggregation aggregation = Aggregation::kSum;
  Combination combination = Combination::kNone;
  std::vector<std::string> index_names;
  Access output;  // it has the sizes of the result value
  std::vector<Access> inputs;
  std::vector<math::RangeConstraint> constraints;
  ValueId default_value = kNoValue;
  bool no_defract = false;

  bool operator==(const Contraction&) const = default;
};

enum class SpecialKind : uint8_t {
  // reshape(T, d0, …): the same elements in row-major order with other sizes. No params.
  kReshape,
  // index(T, axis): the coordinate along `params[0]`, int32, in the shape of T.
  kIndex,
  // gather(D, I [, axis]): params {axis}; result dims = D[:axis] + I.dims + D[axis+1:]. Valid
  // indices are -size to size-1 (negative ones count from the end); others are clamped.
  kGather,
  // gather_elements(D, I, axis): params {axis}; out[i…] = D[i… with axis replaced by I[i…]].
  kGatherElements,
  // gather_nd(D, I, batch_dims): params {batch_dims}; ONNX GatherND.
  kGatherNd,
  // scatter(E, I, V): zeros of shape V.dim0 + E.dims[rank(I):], to which E is added at I.
  kScatter,
  // For all scatters: negative indices count from the end, and updates out of range are ignored. If
  // several updates assign one element (kAssign), the last one in row-major order wins.
  // scatter_elements(D, I, U, axis, mode), params {axis, mode}: D, updated with U at I along the
  // axis; mode is a ScatterMode.
  kScatterElements,
  // scatter_nd(D, I, U, mode), params {mode}: ONNX ScatterND.
  kScatterNd,
  // sort(T, axis, descending): sorted values, params {axis, descending}. argsort(T, axis,
  // descending, count): their int64 positions, only the first `count` (0: all), params in this
  // order. Both are stable; NaN is greater than everything else.
  kSort,
  kArgSort,
  // cumsum(T, axis, exclusive, reverse), and cumprod; params in this order.
  kCumSum,
  kCumProd,
  // prng(S, d0, …): uniform float32 in [0, 1) from a uint32[2] (or integer scalar) seed,
  // counter-based: RandomUniform of random.h. No params.
  kPrng,
  // custom_gradient(Y, rule, X…): the value Y. Its gradient goes to the tensors X by Special::rule
  // instead of the operations that computed Y. stop_gradient(Y) has no X and no rule. No params.
  kCustomGradient,
};

enum class ScatterMode : int64_t { kAssign = 0, kAdd = 1, kMul = 2, kMin = 3, kMax = 4 };

struct Program;

// Operations that contractions and elementwise functions cannot express.
struct Special {
  SpecialKind kind = SpecialKind::kReshape;
  std::vector<ValueId> operands;
  std::vector<int64_t> params;
  // kCustomGradient: a program whose inputs are (X…, Y, the gradient of Y), and whose outputs are
  // the gradients of those X that are floats. Null for stop_gradient and for every other kind.
  std::shared_ptr<const Program> rule = nullptr;
};
// Compares the contents of the rules.
bool operator==(const Special& a, const Special& b);

// The name of the function in Tile: "reshape", "gather" …
absl::string_view Name(SpecialKind kind);

struct Input {
  bool is_constant = false;
  bool is_state = false;  // stored in the caller's memory, which persists between executions
  int next = -1;          // for states: the output that overwrites it; -1: read only

  bool operator==(const Input&) const = default;
};

using Op = std::variant<Input, Constant, Elementwise, Contraction, Special>;

// A value and the operation that computes it.
struct Value {
  std::string name;
  TensorShape shape;
  Op op;

  bool operator==(const Value&) const = default;
};

struct Program {
  std::string name;
  std::vector<Value> values;     // operands come before their users
  std::vector<ValueId> inputs;   // in the order of the function header
  std::vector<ValueId> outputs;  // may contain inputs and duplicates
  std::vector<std::string> output_names;

  bool operator==(const Program&) const = default;
};

// Every value that an operation reads, in a fixed order (a value may occur twice).
std::vector<ValueId> Operands(const Op& op);

// The number of operations that read each value, plus one per program output.
std::vector<int> UseCounts(const Program& program);

// The program without kCustomGradient operations, which are replaced by their operands. The
// compiler starts from this, after gradients are taken.
Program WithoutCustomGradients(Program program);

// Readable text, one operation per line, with types and shapes; for dumps and tests.
std::string ToString(const Program& program);

// The program as a Tile function that binds to an equal program (names may differ).
std::string ToTile(const Program& program);

// An internal error that names the first broken invariant: operand order, ranks of accesses, shapes
// that fit the operation.
absl::Status Verify(const Program& program);

}  // namespace tartan::ir
