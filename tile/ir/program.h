// SPDX-License-Identifier: Apache-2.0
// The graph level: one Tile function bound to concrete shapes, as a list of operations in
// single-assignment form. Built by ProgramBuilder (program_builder.h), never edited in place.
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

// A scalar literal. A *weak* one (a literal without a suffix or cast) takes the type of what it
// meets: 2 * X keeps the type of X when X is a float or the literal is an integer.
struct Constant {
  std::variant<int64_t, double> value;
  bool weak = true;

  double AsDouble() const {
    const auto* i = std::get_if<int64_t>(&value);
    return i != nullptr ? static_cast<double>(*i) : std::get<double>(value);
  }
  bool operator==(const Constant&) const = default;
};

// op applied to every element after broadcasting the operands, which may differ in type and are
// converted to OperandType (type_rules.h) first; a cast's type is the result's.
struct Elementwise {
  ScalarOp op = ScalarOp::kIdentity;
  std::vector<ValueId> operands;

  bool operator==(const Elementwise&) const = default;
};

// A tensor read (or, for the output, written) at affine functions of the contraction's indices.
struct Access {
  ValueId tensor = kNoValue;          // kNoValue for the output
  std::vector<math::Affine> indices;  // one per dimension; coefficients may be rational
};
bool operator==(const Access& a, const Access& b);

// output[...] = aggregation(combination(inputs[...]...)) over all valid integer index values: those
// for which every access is in range and every constraint holds. Elements without any valid index
// are 0, or those of `default_value`. kAssign with two valid indices for one element is an error;
// kMax and kMin hand NaN on.
struct Contraction {
  Aggregation aggregation = Aggregation::kSum;
  Combination combination = Combination::kNone;
  std::vector<std::string> index_names;
  Access output;  // its sizes are those of the result value
  std::vector<Access> inputs;
  std::vector<math::RangeConstraint> constraints;
  ValueId default_value = kNoValue;
  bool no_defract = false;

  bool operator==(const Contraction&) const = default;
};

enum class SpecialKind : uint8_t {
  // reshape(T, d0, …): the same elements in row-major order under other sizes. No params.
  kReshape,
  // index(T, axis): coordinate along `params[0]`, int32, shape of T.
  kIndex,
  // gather(D, I [, axis]): params {axis}; out dims = D[:axis] + I.dims + D[axis+1:]. Indices
  // from -size to size-1 (negative ones count from the end), clamped beyond that.
  kGather,
  // gather_elements(D, I, axis): params {axis}; out[i…] = D[i… with axis replaced by I[i…]].
  kGatherElements,
  // gather_nd(D, I, batch_dims): params {batch_dims}; ONNX GatherND.
  kGatherNd,
  // scatter(E, I, V): zero of shape V.dim0 + E.dims[rank(I):], then E added at I (seed form).
  kScatter,
  // All scatters: negative indices count from the end, updates beyond the ends are left out, and
  // of several updates of one element with kAssign the last in row-major order stays.
  // scatter_elements(D, I, U, axis, mode), params {axis, mode}: D with U put at I along axis;
  // mode is a ScatterMode.
  kScatterElements,
  // scatter_nd(D, I, U, mode), params {mode}: ONNX ScatterND.
  kScatterNd,
  // sort(T, axis, descending) values, params {axis, descending}; argsort(T, axis, descending,
  // count)
  // int64 positions, of the first `count` alone (0: all), params in this order. Stable either way;
  // NaN is greater than all else.
  kSort,
  kArgSort,
  // cumsum(T, axis, exclusive, reverse), cumprod likewise; params in this order.
  kCumSum,
  kCumProd,
  // prng(S, d0, …): uniform float32 in [0, 1) from a uint32[2] (or integer scalar) seed, counter
  // based: RandomUniform of random.h. No params.
  kPrng,
  // custom_gradient(Y, rule, X…): Y, whose derivative is handed to the tensors X by Special::rule
  // and
  // not to what computed Y. stop_gradient(Y) is the one without X and without a rule. No params.
  kCustomGradient,
};

enum class ScatterMode : int64_t { kAssign = 0, kAdd = 1, kMul = 2, kMin = 3, kMax = 4 };

struct Program;

// What Tile's contractions and elementwise functions cannot say.
struct Special {
  SpecialKind kind = SpecialKind::kReshape;
  std::vector<ValueId> operands;
  std::vector<int64_t> params;
  // kCustomGradient: a program of the inputs (X…, Y, the derivative by Y) whose outputs are the
  // derivatives by those X that are floats. Null in stop_gradient and for every other kind.
  std::shared_ptr<const Program> rule = nullptr;
};
// Rules are compared by what they hold.
bool operator==(const Special& a, const Special& b);

// The name of the function in Tile: "reshape", "gather" …
absl::string_view Name(SpecialKind kind);

struct Input {
  bool is_constant = false;
  bool is_state = false;  // lies in memory of the caller's, which stays there between runs
  int next = -1;          // of a state: the output that is written over it; -1: it is only read

  bool operator==(const Input&) const = default;
};

using Op = std::variant<Input, Constant, Elementwise, Contraction, Special>;

// A value and the operation that makes it.
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
  std::vector<ValueId> outputs;  // may name inputs and may repeat
  std::vector<std::string> output_names;

  bool operator==(const Program&) const = default;
};

// Every value an operation reads, in a fixed order (a value may appear twice).
std::vector<ValueId> Operands(const Op& op);

// How many times each value is read by operations, plus once per program output.
std::vector<int> UseCounts(const Program& program);

// The program without its kCustomGradient operations, whose values are those they are given. What a
// compiler starts from: gradients are taken before.
Program WithoutCustomGradients(Program program);

// Readable text, one operation a line, with types and shapes; for dumps and tests.
std::string ToString(const Program& program);

// The same program as a Tile function that binds back to an equal program (names may differ).
std::string ToTile(const Program& program);

// Internal error naming the first broken invariant: order of operands, ranks of accesses,
// shapes that fit the operation.
absl::Status Verify(const Program& program);

}  // namespace tartan::ir
