// SPDX-License-Identifier: Apache-2.0
// Type rules: the type in which an operation computes, and its result type. All users of programs
// use these.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// The common type of two operands: any float beats any integer, integers beat bool, within a family
// the wider type wins, signed beats unsigned of the same width. float16 with bfloat16 gives
// float32.
DataType Promote(DataType a, DataType b);

// The properties of an operand that type rules use.
struct OperandInfo {
  DataType type = DataType::kInvalid;
  bool is_weak = false;  // a constant that takes the type of the other operands
};

OperandInfo InfoOf(const Value& value);

// Promote over all operands (one or more), with exceptions: a weak integer takes the type of any
// number next to it, and a weak float the type of any float (with integers it gives float32).
DataType CommonType(absl::Span<const OperandInfo> operands);

// InvalidArgument if a weak integer among `values` does not fit the integer type.
absl::Status CheckLiterals(const Program& program, absl::Span<const ValueId> values, DataType type);

// The type in which `op` computes: for kSelect from the last two operands, for kCast the operand's
// own, and float32 for float functions of integers. InvalidArgument if the function is not defined
// for the type.
absl::StatusOr<DataType> ElementwiseType(ScalarOp op, absl::Span<const OperandInfo> operands);

// The type to which operand `i` of the elementwise operation `value` is converted before the
// operation; float32 for the 16-bit floats. An operand is never rounded to 16 bits here.
DataType OperandType(const Program& program, ValueId value, int i);

// Returns true for an operation that may enlarge the rounding error of its operands: its operands
// and its result stay in float32 where other values have 16 bits.
bool EnlargesRoundingErrors(const Elementwise& elementwise);

// The common types of a contraction's inputs: of the two that are compared (kEqual, kCond), and of
// the values that are aggregated.
struct ContractionTypes {
  DataType compared = DataType::kInvalid;  // kInvalid unless kEqual or kCond
  DataType result = DataType::kInvalid;
};
ContractionTypes TypesOf(const Program& program, const Contraction& contraction);

}  // namespace tartan::ir
