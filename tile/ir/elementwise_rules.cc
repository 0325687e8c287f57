// SPDX-License-Identifier: Apache-2.0
// Shape rules of elementwise operations.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/ir/shape_rules.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {

absl::StatusOr<TensorShape> ElementwiseShape(const Program& program,
                                             const Elementwise& elementwise) {
  const ScalarOp op = elementwise.op;
  const auto count = static_cast<int>(elementwise.operands.size());
  if (count != OperandCount(op)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(op), " takes ", OperandCount(op), " operands, not ", count));
  }
  TensorShape result;
  std::vector<OperandInfo> operands;
  for (const ValueId id : elementwise.operands) {
    const Value& value = program.values[id];
    operands.push_back(InfoOf(value));
    absl::StatusOr<std::vector<int64_t>> dims = BroadcastDims(result.dims, value.shape.dims);
    if (!dims.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(Name(op), ": ", dims.status().message()));
    }
    result.dims = *std::move(dims);
  }
  TARTAN_ASSIGN_OR_RETURN(const DataType type, ElementwiseType(op, operands));
  const bool is_select = op == ScalarOp::kSelect;  // its condition is converted to bool
  TARTAN_RETURN_IF_ERROR(CheckLiterals(
      program, absl::MakeConstSpan(elementwise.operands).subspan(is_select ? 1 : 0), type));
  result.type = ReturnsBool(op) ? DataType::kBool : type;
  TARTAN_RETURN_IF_ERROR(CheckShape(result));
  return result;
}

}  // namespace tartan::ir
