// SPDX-License-Identifier: Apache-2.0
// Appends the formulas of derivatives to a program. Rules read as mathematics because failures are
// kept aside: after the first one every function returns value 0, and status() says what it was.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/ir/program_builder.h"

namespace tartan::autodiff {

using ir::ValueId;

class Emitter {
 public:
  // Requires a program that has a value, and that outlives the emitter.
  explicit Emitter(ir::ProgramBuilder& builder) : builder_(builder) {}

  const absl::Status& status() const { return status_; }
  // Keeps the failure if it is the first.
  void Fail(absl::Status status);

  // By value, as appending moves the program's storage.
  TensorShape shape(ValueId value) const { return builder_.shape(value); }
  DataType type(ValueId value) const { return builder_.shape(value).type; }

  ValueId Number(double value) { return builder_.AddConstant(value); }    // weak
  ValueId Integer(int64_t value) { return builder_.AddConstant(value); }  // weak
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
  // condition ? a : 0.
  ValueId Where(ValueId condition, ValueId a) { return Select(condition, a, Integer(0)); }
  // The value itself where it has the type.
  ValueId Cast(ValueId x, DataType type);

  ValueId Contract(ir::Contraction contraction, std::vector<int64_t> dims);
  ValueId Special(ir::SpecialKind kind, absl::Span<const ValueId> operands,
                  absl::Span<const int64_t> params);
  ValueId Reshape(ValueId x, absl::Span<const int64_t> dims);

  // The outputs of a program applied to these values.
  std::vector<ValueId> Program(const ir::Program& program, absl::Span<const ValueId> arguments);

  // A scalar repeated to these sizes.
  ValueId Fill(ValueId scalar, const std::vector<int64_t>& dims);
  ValueId Zeros(const TensorShape& shape) { return Fill(Typed(shape.type, 0), shape.dims); }
  ValueId Ones(const TensorShape& shape) { return Fill(Typed(shape.type, 1), shape.dims); }
  // The axes in another order: axis d of the result is axis `order[d]` of `x`.
  ValueId Transpose(ValueId x, absl::Span<const int64_t> order);
  // The row-major number of each element, int64.
  ValueId LinearIndex(const std::vector<int64_t>& dims);
  // Undoes broadcasting and conversion: sums over the axes along which a value of `target` was
  // repeated to the sizes of `x`, then converts.
  ValueId SumTo(ValueId x, const TensorShape& target);

 private:
  ValueId Keep(absl::StatusOr<ValueId> value);

  ir::ProgramBuilder& builder_;
  absl::Status status_;
};

// The identity map on `count` variables.
std::vector<math::Affine> Variables(int64_t count);
// Names for that many index variables.
std::vector<std::string> IndexNames(int64_t count);

}  // namespace tartan::autodiff
