// SPDX-License-Identifier: Apache-2.0
// The kernel before scheduling: input of planning and code generation.
// A kernel has index ranges, affine accesses, constraints, an aggregation, and a scalar body over
// the reads. Each output has an epilogue over the accumulator and reads at output indices. An
// elementwise kernel has no reduced index.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/scalar_op.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/math/affine.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Literal {
  std::variant<int64_t, double> value;
  bool is_size = false;  // the value is a size of the program or derived from one
};
struct Read {  // the element at FlatContraction::accesses[access]
  int access;
};
// An aggregated value; in epilogues only. `number`: the value of
// FlatContraction::accumulator_index, or 1 for the sum of second_body.
struct Accumulator {
  int number = 0;
};
struct Coordinate {  // the value of an affine function of the indices
  math::Affine poly;
};
struct Apply {
  ScalarOp op;
  std::vector<ExprPtr> operands;
};
struct InRange {  // true if all constraints hold
  std::vector<math::RangeConstraint> constraints;
};
// An element of a tensor at computed coordinates. They are in range if the guard holds; otherwise
// nothing is read, as in TensorAccess.
struct ReadAt {
  int tensor;
  std::vector<ExprPtr> coordinates;
  std::vector<math::RangeConstraint> guard;
};
// values[poly]: selects an expression by indices that the plan unrolls, so that all values are
// computed together and share subexpressions. Requires 0 <= poly < values.size().
struct Choice {
  math::Affine poly;
  std::vector<ExprPtr> values;
};

// `type` is a computation type, never a 16-bit float.
struct Expr {
  DataType type;
  std::variant<Literal, Read, Accumulator, Coordinate, Apply, InRange, ReadAt, Choice> node;
};

// A read of a tensor. Where the guard fails, nothing is read and the value is unspecified; the
// surrounding expression selects another value.
struct TensorAccess {
  int tensor = 0;                    // position in FlatContraction::tensors
  std::vector<math::Affine> coords;  // one per dimension, integer coefficients
  std::vector<math::RangeConstraint> guard;
};

struct Tensor {
  ir::ValueId value = ir::kNoValue;  // the owner of the memory
  TensorShape shape;                 // dimensions as read; dense row-major
};

struct Output {
  ir::ValueId value = ir::kNoValue;
  TensorShape shape;
  ExprPtr expr;
};

struct FlatContraction {
  std::string name;
  std::vector<std::string> comments;  // the Tile statements that the kernel computes
  std::vector<Index> indices;         // output indices first
  int output_index_count = 0;
  std::vector<Tensor> tensors;
  std::vector<TensorAccess> accesses;
  // The reduction. For an elementwise kernel, `body` is null and no other member of the reduction
  // is set.
  Aggregation aggregation = Aggregation::kSum;
  DataType accumulator_type = DataType::kInvalid;
  ExprPtr body;
  // Output index of the accumulators only: each output element uses one accumulator per value of
  // this index. -1: none. Only for work-groups of GPUs (compiler/launches/fuse_into_consumer.h).
  int accumulator_index = -1;
  // A second sum over the same points; null: none. Only for plans with a matrix unit
  // (compiler/launches/fuse_dual_gemm.h).
  ExprPtr second_body;
  std::vector<math::RangeConstraint> constraints;  // points at which one fails contribute nothing
  bool may_be_empty = false;                       // some output elements may have no valid point
  ExprPtr empty_value;  // value of an output element without valid points; null: 0
  // Coordinates and sizes of the written tensor.
  std::vector<math::Affine> output_coords;
  std::vector<int64_t> output_dims;
  std::vector<math::RangeConstraint> store_guard;
  // A row of output_dims may be longer than the last index's range; the padding has no meaning and
  // may be overwritten.
  bool has_padded_rows = false;
  // Each has the dimensions output_dims, or a reshape of them.
  std::vector<Output> outputs;

  bool is_reduction() const { return body != nullptr; }
  // Returns true if the kernel must know whether an element had a valid point, because an empty
  // aggregation has another result than its identity element.
  bool needs_hits() const {
    return may_be_empty && (aggregation != Aggregation::kSum || empty_value != nullptr);
  }
  // Number of accumulators per output element.
  int64_t accumulators_per_element() const {
    return accumulator_index < 0 ? 1 : indices[accumulator_index].range;
  }
  // Number of index points; number of output index points.
  int64_t point_count() const;
  int64_t output_point_count() const;
};

// A flat access: element offset = offset + sum(strides[i] * index_i).
struct FlatAccess {
  int64_t offset = 0;
  std::vector<int64_t> strides;

  bool operator==(const FlatAccess&) const = default;
};
FlatAccess Flatten(absl::Span<const math::Affine> coords, absl::Span<const int64_t> dims,
                   int index_count);

// Flattens one access of the kernel.
FlatAccess Flatten(const FlatContraction& flat, int access);
// Returns the offset as an affine function of the indices.
math::Affine AsAffine(const FlatAccess& access);

// Returns the operation that combines accumulator and value; for kAssign, an addition to 0.
ScalarOp AggregationOp(Aggregation aggregation);

// Counts scalar operations per evaluation; shared subexpressions count once.
int64_t OperationCount(const ExprPtr& expr);

// Counts operations of the whole kernel: the output expressions per element, and body and
// aggregation per point. A packed dot instruction counts as its multiplications.
double Flops(const FlatContraction& flat);

// Prints the kernel as a table: ranges, strides and offsets of accesses, constraints, expressions.
std::string ToString(const FlatContraction& flat);

ExprPtr MakeExpr(DataType type, decltype(Expr::node) node);
ExprPtr MakeApply(ScalarOp op, DataType type, std::vector<ExprPtr> operands);
// Returns an integer literal in the computation type of `type`.
ExprPtr MakeNumber(int64_t value, DataType type);
// Converts to the computation type of `type`; returns the expression unchanged if it has that type.
ExprPtr Convert(ExprPtr expr, DataType type);

}  // namespace tartan::poly
