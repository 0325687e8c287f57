// SPDX-License-Identifier: Apache-2.0
// Builds an ir::Program operation by operation, for the Tile binder, autodiff and graph passes.
// Applies the type and shape rules. Every function returns InvalidArgument with a message that
// names the operand shapes or types at fault.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

class ProgramBuilder {
 public:
  ProgramBuilder() = default;

  // Continues an existing program (autodiff appends to the forward pass).
  explicit ProgramBuilder(Program program) : program_(std::move(program)) {}

  absl::StatusOr<ValueId> AddInput(std::string name, TensorShape shape, Input input = {});
  // Weak constants; their nominal types are int32 (int64 if it does not fit) and float32.
  ValueId AddConstant(int64_t value);
  ValueId AddConstant(double value);
  // A constant of a fixed type.
  ValueId AddConstant(DataType type, double value);

  // An operation on constants alone is folded to a constant without a name; it is weak if all
  // operands are. Operands of different types are kept: OperandType (type_rules.h) is the type in
  // which an operation computes. Type rules:
  // - any float beats any integer, and integers beat bool;
  // - within a family the wider type wins;
  // - signed and unsigned of the same width give the signed type;
  // - comparisons and logic give bool.
  absl::StatusOr<ValueId> AddElementwise(ScalarOp op, absl::Span<const ValueId> operands,
                                         std::string name = "");
  absl::StatusOr<ValueId> AddCast(ValueId operand, DataType type, std::string name = "");
  // `dims` are the sizes of the output.
  absl::StatusOr<ValueId> AddContraction(Contraction contraction, std::vector<int64_t> dims,
                                         std::string name = "");
  // For kReshape and kPrng `params` are the new sizes; the builder stores them in the result's
  // shape.
  absl::StatusOr<ValueId> AddSpecial(SpecialKind kind, absl::Span<const ValueId> operands,
                                     absl::Span<const int64_t> params, std::string name = "");

  // The value, whose gradient goes to `inputs` by `rule` (SpecialKind::kCustomGradient).
  absl::StatusOr<ValueId> AddCustomGradient(ValueId value, absl::Span<const ValueId> inputs,
                                            Program rule, std::string name = "");
  // The value without a gradient; the operand itself if it has none anyway.
  absl::StatusOr<ValueId> AddStopGradient(ValueId value, std::string name = "");
  // Appends the operations of another program, applied to `arguments`, one per input, of equal
  // shapes. Returns the values of its outputs.
  absl::StatusOr<std::vector<ValueId>> AddProgram(const Program& program,
                                                  absl::Span<const ValueId> arguments);

  // Names a value for dumps and kernels; only its first name counts.
  void SetName(ValueId value, std::string name);
  void AddOutput(ValueId value, std::string name);

  const Program& program() const { return program_; }
  const TensorShape& shape(ValueId value) const { return program_.values[value].shape; }
  // Removes dead values, verifies, and returns the program.
  absl::StatusOr<Program> Build() &&;

 private:
  ValueId Append(std::string name, TensorShape shape, Op op);
  ValueId RoundedBefore(ValueId operand, DataType type) const;
  // The value of this constant; equal constants share one value.
  ValueId Literal(DataType type, Constant constant);

  // A constant's type, whether it is weak, whether it is a float, and its bits.
  using LiteralKey = std::tuple<DataType, bool, bool, uint64_t>;

  Program program_;
  std::map<LiteralKey, ValueId> literals_;
};

}  // namespace tartan::ir
