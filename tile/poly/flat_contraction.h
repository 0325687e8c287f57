// SPDX-License-Identifier: Apache-2.0
// One kernel: index ranges, affine accesses, constraints, an aggregation, a scalar body over the
// reads, and for each output an epilogue over the accumulator and reads at output indices. An
// elementwise kernel is one without a reduced index. What planning and code generation start from.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/scalar_op.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/math/affine.h"
#include "tile/poly/index_space.h"

namespace tartan::poly {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Literal {
  std::variant<int64_t, double> value;
  bool is_size = false;  // the value is a size of the program, or follows from one
};
struct Read {  // the element at FlatContraction::accesses[access]
  int access;
};
// An aggregated value; epilogues only. Of several, `number` tells which: the value of
// FlatContraction::joined_index, or 1 for that of second_body.
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
struct InRange {  // true where all hold
  std::vector<math::RangeConstraint> constraints;
};
// An element of a tensor at coordinates that are themselves computed. Where the guard holds they
// are in range; elsewhere nothing is read, as in TensorAccess.
struct ReadAt {
  int tensor;
  std::vector<ExprPtr> coordinates;
  std::vector<math::RangeConstraint> guard;
};
// values[poly]: one of several expressions, told by indices that a plan unrolls, so that all of
// them are computed side by side and share what they have in common. 0 <= poly < values.size().
struct Choice {
  math::Affine poly;
  std::vector<ExprPtr> values;
};

// `type` is a type of computation: never a 16-bit float.
struct Expr {
  DataType type;
  std::variant<Literal, Read, Accumulator, Coordinate, Apply, InRange, ReadAt, Choice> node;
};

// A read of a tensor. Where a guard does not hold nothing is read and the value is unspecified
// (the expression around it selects another).
struct TensorAccess {
  int tensor = 0;                    // position in FlatContraction::tensors
  std::vector<math::Affine> coords;  // one per dimension, integer coefficients
  std::vector<math::RangeConstraint> guard;
};

struct Tensor {
  ir::ValueId value = ir::kNoValue;  // whose memory is read
  TensorShape shape;                 // as it is read; dense row-major
};

struct Output {
  ir::ValueId value = ir::kNoValue;
  TensorShape shape;
  ExprPtr expr;
};

struct FlatContraction {
  std::string name;
  std::vector<std::string> comments;  // the Tile statements it computes
  std::vector<Index> indices;         // output indices first
  int output_index_count = 0;
  std::vector<Tensor> tensors;
  std::vector<TensorAccess> accesses;
  // Reduction; body is null for an elementwise kernel, and then nothing else of it is set.
  Aggregation aggregation = Aggregation::kSum;
  DataType accumulator_type = DataType::kInvalid;
  ExprPtr body;
  // An output index of the sums alone: outputs have an element for all of its values, made of as
  // many sums; -1: none. Work-groups of GPUs alone have it (compiler/launches/join_sums.h).
  int joined_index = -1;
  // Aggregated beside the body, over the same points; null: none. Plans for a matrix unit alone
  // have it (compiler/launches/pair_products.h).
  ExprPtr second_body;
  std::vector<math::RangeConstraint> constraints;  // points where one fails contribute nothing
  bool may_be_empty = false;                       // some output element may have no valid point
  ExprPtr empty_value;                             // its value; null: 0
  // The elements written: coordinates of the iteration space's tensor, and its sizes.
  std::vector<math::Affine> output_coords;
  std::vector<int64_t> output_dims;
  std::vector<math::RangeConstraint> store_guard;
  // What lies behind the last index's range in a row of output_dims is nobody's, and may be written
  // over with anything.
  bool has_padded_rows = false;
  // All of output_dims, or a reshape of them.
  std::vector<Output> outputs;
  // Moved once more where an element is written more than once: outputs that could else be written
  // over what they are computed from (compiler/update_in_place.h).
  double copied_bytes = 0;
  // All that a run of the program touches stays in the second cache until the next one, so that
  // what the kernel reads is there. Told where plans depend on it.
  bool stays_in_cache = false;

  bool is_reduction() const { return body != nullptr; }
  // Whether an element had any valid point must be known, because the aggregation of none is not
  // the value it is to have.
  bool needs_hits() const {
    return may_be_empty && (aggregation != Aggregation::kSum || empty_value != nullptr);
  }
  // Sums that an element of the outputs is made of.
  int64_t joined_count() const { return joined_index < 0 ? 1 : indices[joined_index].range; }
  // Product of the index ranges; of the output indices alone.
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

// One of the kernel's accesses.
FlatAccess Flatten(const FlatContraction& flat, int access);
// The offset as a function of the indices.
math::Affine AsAffine(const FlatAccess& access);

// The function of an accumulator and the next value. kAssign sees one value and adds it to 0.
ScalarOp AggregationOp(Aggregation aggregation);

// Number of scalar operations per evaluation, shared subexpressions once.
int64_t OperationCount(const ExprPtr& expr);

// Of the whole kernel: operations of its outputs' expressions, and of the body with the aggregation
// at every point; packed products count as those that they are.
double Flops(const FlatContraction& flat);

// The tables of a kernel: ranges, strides of each access, offsets, constraints, expressions.
std::string ToString(const FlatContraction& flat);

ExprPtr MakeExpr(DataType type, decltype(Expr::node) node);
ExprPtr MakeApply(ScalarOp op, DataType type, std::vector<ExprPtr> operands);
// An integer as a number of the computation type of `type`.
ExprPtr MakeNumber(int64_t value, DataType type);
// Converts to the computation type of `type`; the expression itself where it has it already.
ExprPtr Convert(ExprPtr expr, DataType type);

}  // namespace tartan::poly
