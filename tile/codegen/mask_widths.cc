// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/mask_widths.h"

#include <variant>

namespace tartan::codegen {

loop::Type MaskType(int64_t width, int lanes) {
  switch (width) {
    case 1:
      return {DataType::kInt8, lanes};
    case 2:
      return {DataType::kInt16, lanes};
    case 4:
      return {DataType::kInt32, lanes};
    default:
      return {DataType::kInt64, lanes};
  }
}

MaskWidths MaskWidthsOf(const loop::Apply& condition) {
  MaskWidths widths;
  for (const loop::ExprPtr& operand : condition.operands) {
    const auto* part = std::get_if<loop::Apply>(&operand->node);
    if (!IsMask(operand->type)) {
      const int64_t width = ByteWidth(operand->type.element);
      if (operand->type.lanes > 1) widths.Add({width, width});
    } else if (part != nullptr) {
      widths.Add(MaskWidthsOf(*part));
    }
  }
  return widths;
}

}  // namespace tartan::codegen
