// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/quantization_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {

std::string FunctionText::Operand(int i) {
  const std::string name = absl::StrCat("X", i);
  operands_.push_back(context_.input(i));
  absl::StrAppend(&names_, names_.empty() ? "" : ", ", name);
  return name;
}

std::string FunctionText::Operand(Tensor tensor) {
  const std::string name = absl::StrCat("T", operands_.size());
  operands_.push_back(std::move(tensor));
  absl::StrAppend(&names_, names_.empty() ? "" : ", ", name);
  return name;
}

Outputs FunctionText::Apply(absl::string_view outputs) const {
  return context_.Apply(TileFunction(names_, outputs, statements_), operands_);
}

std::string Quantized(absl::string_view expr, absl::string_view zero_point, DataType type) {
  return Quantized(expr, zero_point, type, {MinInteger(type), MaxInteger(type)});
}

std::string Quantized(absl::string_view expr, absl::string_view zero_point, DataType type,
                      const IntegerLimits& limits) {
  std::string value = absl::StrCat("round(", expr, ")");
  if (!zero_point.empty()) absl::StrAppend(&value, " + ", zero_point);
  return Cast(absl::StrCat("min(max(", value, ", ", Literal(limits.least), "), ",
                           Literal(limits.greatest), ")"),
              type);
}

absl::StatusOr<std::string> AlongAxis(FunctionText& text, int i, const std::vector<int64_t>& dims,
                                      int64_t axis) {
  const Tensor& operand = text.context().input(i);
  const int64_t count = operand.shape().element_count();
  const std::string name = text.Operand(i);
  if (count == 1) return operand.rank() == 0 ? name : ReshapeCall(name, {});
  if (operand.rank() != 1) return name;
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, static_cast<int64_t>(dims.size())));
  if (count != dims[static_cast<size_t>(axis)]) {
    return Invalid("operand ", i, " is ", operand.shape().ToString(), ", expected ",
                   dims[static_cast<size_t>(axis)], " elements");
  }
  std::vector<int64_t> wide(dims.size(), 1);
  wide[static_cast<size_t>(axis)] = count;
  return ReshapeCall(name, wide);
}

absl::Status AddInteger(FunctionText& text, absl::string_view target, int i, int zero_point,
                        int64_t axis) {
  std::string value = Cast(text.Operand(i), DataType::kInt32);
  if (text.context().HasInput(zero_point)) {
    TARTAN_ASSIGN_OR_RETURN(const std::string zero,
                            AlongAxis(text, zero_point, text.context().input(i).dims(), axis));
    value = absl::StrCat(value, " - ", Cast(zero, DataType::kInt32));
  }
  text.Add(target, value);
  return absl::OkStatus();
}

void AddDynamicQuantization(FunctionText& text, int i) {
  const int64_t rank = text.context().input(i).rank();
  for (std::string& statement : DynamicQuantizationStatements(text.Operand(i), rank)) {
    text.Add(std::move(statement));
  }
}

std::vector<std::string> DynamicQuantizationStatements(absl::string_view x, int64_t rank) {
  const std::string all = Read(x, IndexNames(rank));
  return {absl::StrCat("HIGH[] = >(", all, ")"),
          absl::StrCat("LOW[] = <(", all, ")"),
          "BOTTOM = min(LOW, 0)",
          "RANGE = max(HIGH, 0) - BOTTOM",
          "SCALE = RANGE == 0 ? 1 : RANGE / 255",
          absl::StrCat("ZERO = ", Quantized("-BOTTOM / SCALE", "", DataType::kUInt8)),
          absl::StrCat("QUANTIZED = ",
                       Quantized(absl::StrCat(x, " / SCALE"), "ZERO", DataType::kUInt8))};
}

int64_t RowAxis(const Tensor& a) { return a.rank() > 1 ? -2 : -1; }

}  // namespace tartan::onnx
