// SPDX-License-Identifier: Apache-2.0
// Appends the formulas of derivatives to a program.
// Rules need no error checks: after the first failure, every function returns value 0, and status()
// returns the error.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/ir/program_builder.h"

namespace tartan::autodiff {

using ir::ValueId;

class Emitter {
 public:
  // Requires that the program has a value and outlives the emitter.
  explicit Emitter(ir::ProgramBuilder& builder) : builder_(builder) {}

  const absl::Status& status() const { return status_; }
  // Records a failure unless there is an earlier one.
  void Fail(absl::Status status);

  // Returned by value, because appending moves the program's storage.
  TensorShape shape(ValueId value) const { return builder_.shape(value); }
  DataType type(ValueId value) const { return builder_.shape(value).type; }

  ValueId Number(double value) { return builder_.AddConstant(value); }    // a weakly typed constant
  ValueId Integer(int64_t value) { return builder_.AddConstant(value); }  // a weakly typed constant
  ValueId Typed(DataType type, double value) { return builder_.AddConstant(type, value); }

  ValueId Apply(ScalarOp op, absl::Span<const ValueId> operands);
  ValueId Apply(ScalarOp op, ValueId x) { return Apply(op, absl::MakeConstSpan(&x, 1)); }
  ValueId Neg(ValueId x) { return Apply(ScalarOp::kNeg, x); }
  ValueId Add(ValueId a, ValueId b) { return Apply(ScalarOp::kAdd, {a, b}); }
  ValueId Sub(ValueId a, ValueId b) { return Apply(ScalarOp::kSub, {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return Apply(ScalarOp::kMul, {a, b}); }
  ValueId Div(ValueId a, ValueId b) { return Apply(ScalarOp::kDiv, {a, b}); }
  ValueId Equal(ValueId a, ValueId b) { return Apply(ScalarOp::kEqual, {a, b}); }
  ValueId And(ValueId a, ValueId b) { return Apply(ScalarOp::kLogicalAnd, {a, b}); }
  ValueId Select(ValueId condition, ValueId a, ValueId b) {
    return Apply(ScalarOp::kSelect, {condition, a, b});
  }
  // Returns condition ? a : 0.
  ValueId Where(ValueId condition, ValueId a) { return Select(condition, a, Integer(0)); }
  // Returns `x` unchanged if it has the type.
  ValueId Cast(ValueId x, DataType type);

  ValueId Contract(ir::Contraction contraction, std::vector<int64_t> dims);
  ValueId Special(ir::SpecialKind kind, absl::Span<const ValueId> operands,
                  absl::Span<const int64_t> params);
  ValueId Reshape(ValueId x, absl::Span<const int64_t> dims);

  // Appends the operations of a program, applied to `arguments`; returns its outputs.
  std::vector<ValueId> Program(const ir::Program& program, absl::Span<const ValueId> arguments);

  // Broadcasts a scalar to the given dimensions.
  ValueId Fill(ValueId scalar, const std::vector<int64_t>& dims);
  ValueId Zeros(const TensorShape& shape) { return Fill(Typed(shape.type, 0), shape.dims); }
  ValueId Ones(const TensorShape& shape) { return Fill(Typed(shape.type, 1), shape.dims); }
  // Permutes the axes: axis d of the result is axis `order[d]` of `x`.
  ValueId Transpose(ValueId x, absl::Span<const int64_t> order);
  // Returns the row-major number of each element, as int64.
  ValueId LinearIndex(const std::vector<int64_t>& dims);
  // Undoes broadcasting and conversion: sums `x` over the axes along which `target` was broadcast,
  // then converts it to the type of `target`.
  ValueId SumTo(ValueId x, const TensorShape& target);

 private:
  ValueId Keep(absl::StatusOr<ValueId> value);

  ir::ProgramBuilder& builder_;
  absl::Status status_;
};

// Returns the identity map on `count` variables.
std::vector<math::Affine> Variables(int64_t count);
// Returns names for `count` index variables.
std::vector<std::string> IndexNames(int64_t count);

}  // namespace tartan::autodiff
