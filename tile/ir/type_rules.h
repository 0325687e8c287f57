// SPDX-License-Identifier: Apache-2.0
// Which type an operation computes in and which it gives. Every consumer of a program asks here.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// The type two operands meet in: any float beats any integer, integers beat bool, within a family
// the wider wins, signed beats unsigned of the same width. float16 with bfloat16 gives float32.
DataType Promote(DataType a, DataType b);

// What type rules need to know of an operand.
struct OperandInfo {
  DataType type = DataType::kInvalid;
  bool is_weak = false;  // a literal that takes the type of what it meets
};

OperandInfo InfoOf(const Value& value);

// Promote over all operands, except that a weak integer takes the type of any number it meets and a
// weak float that of any float (with integers it makes float32). Requires at least one operand.
DataType CommonType(absl::Span<const OperandInfo> operands);

// InvalidArgument for a weak integer among `values` that an integer type cannot hold.
absl::Status CheckLiterals(const Program& program, absl::Span<const ValueId> values, DataType type);

// The type in which `op` computes (of the last two operands for kSelect; the operand's own for
// kCast; float32 where a function of floats meets integers). InvalidArgument where the function
// does not exist for the type.
absl::StatusOr<DataType> ElementwiseType(ScalarOp op, absl::Span<const OperandInfo> operands);

// The type to which operand `i` of the elementwise operation `value` is converted before the
// operation applies; float32 for the 16-bit floats. An operand is never rounded to 16 bits here.
DataType OperandType(const Program& program, ValueId value, int i);

// The types in which the inputs of a contraction meet: of the first two when they are compared
// (kEqual, kCond), and of the values that are aggregated.
struct ContractionTypes {
  DataType compared = DataType::kInvalid;  // kInvalid unless kEqual or kCond
  DataType result = DataType::kInvalid;
};
ContractionTypes TypesOf(const Program& program, const Contraction& contraction);

}  // namespace tartan::ir
