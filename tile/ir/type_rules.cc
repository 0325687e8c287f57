// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/type_rules.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/scalar_value.h"

namespace tartan::ir {
namespace {

bool IsLogic(ScalarOp op) {
  return op == ScalarOp::kLogicalNot || op == ScalarOp::kLogicalAnd || op == ScalarOp::kLogicalOr;
}

}  // namespace

DataType Promote(DataType a, DataType b) {
  if (a == b) return a;
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (a == DataType::kBool) return b;
  if (b == DataType::kBool) return a;
  if (ByteWidth(a) != ByteWidth(b)) return ByteWidth(a) > ByteWidth(b) ? a : b;
  if (IsFloat(a)) return DataType::kFloat32;  // float16 and bfloat16
  return IsSignedInteger(a) ? a : b;
}

OperandInfo InfoOf(const Value& value) {
  const auto* constant = std::get_if<Constant>(&value.op);
  return {value.shape.type, constant != nullptr && constant->weak};
}

DataType CommonType(absl::Span<const OperandInfo> operands) {
  DataType strong = DataType::kInvalid;
  DataType weak = DataType::kInvalid;
  for (const OperandInfo& operand : operands) {
    DataType& type = operand.is_weak ? weak : strong;
    type = type == DataType::kInvalid ? operand.type : Promote(type, operand.type);
  }
  if (strong == DataType::kInvalid) return weak;
  if (weak == DataType::kInvalid || IsFloat(strong)) return strong;
  if (IsFloat(weak)) return DataType::kFloat32;
  return strong == DataType::kBool ? weak : strong;
}

absl::Status CheckLiterals(const Program& program, absl::Span<const ValueId> values,
                           DataType type) {
  if (!IsInteger(type)) return absl::OkStatus();
  for (const ValueId id : values) {
    const auto* constant = std::get_if<Constant>(&program.values[id].op);
    const auto* integer =
        constant != nullptr && constant->weak ? std::get_if<int64_t>(&constant->value) : nullptr;
    if (integer == nullptr) continue;
    const bool fits =
        *integer >= MinInteger(type) && (type == DataType::kUInt64 || *integer <= MaxInteger(type));
    if (fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the number ", *integer, " does not fit into ", Name(type),
                     ", the type of the other operand: cast the tensor to a wider type first, as "
                     "in as_int(T, 64), or cast the number"));
  }
  return absl::OkStatus();
}

absl::StatusOr<DataType> ElementwiseType(ScalarOp op, absl::Span<const OperandInfo> operands) {
  if (op == ScalarOp::kCast) return operands[0].type;
  if (op == ScalarOp::kSelect) return CommonType(operands.subspan(1));
  if (IsLogic(op)) return DataType::kBool;
  const DataType type = CommonType(operands);
  if (IsFloatFunction(op) && !IsFloat(type)) return DataType::kFloat32;
  if (IsOfKernels(op)) {
    return absl::InvalidArgumentError(absl::StrCat(Name(op), " is not a function of programs"));
  }
  if (IsDefined(op, type)) return type;
  if (IsDefined(op, DataType::kInt32) && !IsDefined(op, DataType::kInt64)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(op), " exists for int32 only, not for ", Name(type)));
  }
  return absl::InvalidArgumentError(absl::StrCat(Name(op), " does not exist for ", Name(type)));
}

DataType OperandType(const Program& program, ValueId value, int i) {
  const auto& elementwise = std::get<Elementwise>(program.values[value].op);
  if (elementwise.op == ScalarOp::kSelect && i == 0) return DataType::kBool;
  std::vector<OperandInfo> operands;
  for (const ValueId operand : elementwise.operands) {
    operands.push_back(InfoOf(program.values[operand]));
  }
  return ComputeType(ElementwiseType(elementwise.op, operands).value_or(DataType::kInvalid));
}

bool EnlargesRoundingErrors(const Elementwise& elementwise) {
  switch (elementwise.op) {
    case ScalarOp::kSqrt:
    case ScalarOp::kRecip:
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kPow:
      return true;
    case ScalarOp::kMul:
      return elementwise.operands[0] == elementwise.operands[1];
    default:
      return false;
  }
}

ContractionTypes TypesOf(const Program& program, const Contraction& contraction) {
  std::vector<OperandInfo> inputs;
  for (const Access& input : contraction.inputs) {
    inputs.push_back(InfoOf(program.values[input.tensor]));
  }
  const absl::Span<const OperandInfo> all = inputs;
  switch (contraction.combination) {
    case Combination::kEqual:
      return {CommonType(all), DataType::kBool};
    case Combination::kCond:
      return {CommonType(all.subspan(0, 2)), inputs[2].type};
    default:
      return {DataType::kInvalid, CommonType(all)};
  }
}

}  // namespace tartan::ir
