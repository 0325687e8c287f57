// SPDX-License-Identifier: Apache-2.0
// Builds an ir::Program operation by operation. Type and shape rules live here, once, for the
// Tile binder, autodiff and graph passes. Every function returns InvalidArgument with a message
// that names the operand shapes or types at fault.
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
  // Weak literals; their nominal types are int32 (int64 where it does not fit) and float32.
  ValueId AddConstant(int64_t value);
  ValueId AddConstant(double value);
  // A literal of a fixed type.
  ValueId AddConstant(DataType type, double value);

  // An operation on literals alone becomes a literal, weak where all of its operands are; it takes
  // no name. Operands of different types stay as they are: OperandType (type_rules.h) says in which
  // type an operation computes.
  // Type rules: any float beats any integer, integers beat bool, the same family gives the wider;
  // signed with unsigned of the same width gives the signed type; comparisons and logic give bool.
  absl::StatusOr<ValueId> AddElementwise(ScalarOp op, absl::Span<const ValueId> operands,
                                         std::string name = "");
  absl::StatusOr<ValueId> AddCast(ValueId operand, DataType type, std::string name = "");
  // `dims` are the sizes of the output.
  absl::StatusOr<ValueId> AddContraction(Contraction contraction, std::vector<int64_t> dims,
                                         std::string name = "");
  // For kReshape and kPrng `params` are the new sizes (they are in the result's shape afterwards).
  absl::StatusOr<ValueId> AddSpecial(SpecialKind kind, absl::Span<const ValueId> operands,
                                     absl::Span<const int64_t> params, std::string name = "");

  // The value, with its derivative handed on by `rule` (SpecialKind::kCustomGradient) to `inputs`.
  absl::StatusOr<ValueId> AddCustomGradient(ValueId value, absl::Span<const ValueId> inputs,
                                            Program rule, std::string name = "");
  // The value, with its derivative handed to nothing; the operand itself where it has none anyway.
  absl::StatusOr<ValueId> AddStopGradient(ValueId value, std::string name = "");
  // Appends the operations of another program applied to `arguments`, one per input of the same
  // shape; returns the values of its outputs.
  absl::StatusOr<std::vector<ValueId>> AddProgram(const Program& program,
                                                  absl::Span<const ValueId> arguments);

  // Gives a value a name that appears in dumps and kernels; the first name given stays.
  void SetName(ValueId value, std::string name);
  void AddOutput(ValueId value, std::string name);

  const Program& program() const { return program_; }
  const TensorShape& shape(ValueId value) const { return program_.values[value].shape; }
  // Removes what no output needs, verifies, and returns the program.
  absl::StatusOr<Program> Build() &&;

 private:
  ValueId Append(std::string name, TensorShape shape, Op op);
  // The value of this literal, made once.
  ValueId Literal(DataType type, Constant constant);

  // A literal's type, whether it is weak, whether it is a float, and its bits.
  using LiteralKey = std::tuple<DataType, bool, bool, uint64_t>;

  Program program_;
  std::map<LiteralKey, ValueId> literals_;
};

}  // namespace tartan::ir
