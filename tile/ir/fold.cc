// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/fold.h"

#include <algorithm>
#include <vector>

#include "tile/base/scalar_value.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

DataType Widest(DataType type) {
  return IsFloat(type) ? DataType::kFloat64 : IsInteger(type) ? DataType::kInt64 : type;
}

bool IsReal(const Literal& literal) {
  return std::holds_alternative<double>(literal.constant.value);
}

Scalar AsScalar(const Literal& literal) {
  if (IsReal(literal)) return {0, std::get<double>(literal.constant.value)};
  return {std::get<int64_t>(literal.constant.value), 0};
}

Literal AsLiteral(DataType type, const Scalar& value) {
  if (IsFloat(type)) return {type, {value.real, false}};
  return {type, {value.integer, false}};
}

}  // namespace

Literal ConvertLiteral(const Literal& literal, DataType type) {
  // A weak real has more digits than its nominal type.
  const DataType from = IsReal(literal) ? DataType::kFloat64 : literal.type;
  return AsLiteral(type, ConvertScalar(AsScalar(literal), from, type));
}

Literal FoldLiterals(ScalarOp op, absl::Span<const Literal> operands) {
  const bool is_weak = std::all_of(operands.begin(), operands.end(),
                                   [](const Literal& x) { return x.constant.weak; });
  std::vector<OperandInfo> infos;
  for (const Literal& x : operands) infos.push_back({x.type, x.constant.weak});
  const DataType common = *ElementwiseType(op, infos);
  const DataType type = is_weak ? Widest(common) : common;
  // Values of 16-bit types are rounded when stored, not between two operations.
  std::vector<Scalar> values;
  for (const Literal& x : operands) {
    const bool is_condition = op == ScalarOp::kSelect && values.empty();
    const DataType wanted = is_condition ? DataType::kBool : ComputeType(type);
    values.push_back(AsScalar(ConvertLiteral(x, wanted)));
  }
  const Scalar value = EvaluateScalar(op, ComputeType(type), values);
  Literal result = AsLiteral(ReturnsBool(op) ? DataType::kBool : type, value);
  result.constant.weak = is_weak && result.type != DataType::kBool;
  return result;
}

}  // namespace tartan::ir
