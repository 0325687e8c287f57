// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/tile_text.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::onnx {

std::string Literal(double value) {
  if (std::isnan(value)) return "nan()";
  if (std::isinf(value)) return value > 0 ? "inf()" : "(-inf())";
  std::string text = absl::StrFormat("%.17g", std::abs(value));
  if (!absl::StrContains(text, '.') && !absl::StrContains(text, 'e')) text += ".0";
  return std::signbit(value) ? absl::StrCat("(-", text, ")") : text;
}

std::string Literal(int64_t value) {
  return value < 0 ? absl::StrCat("(", value, ")") : absl::StrCat(value);
}

std::string Cast(absl::string_view expr, DataType type) {
  if (type == DataType::kBool) return absl::StrCat("as_bool(", expr, ")");
  if (type == DataType::kBFloat16) return absl::StrCat("as_bfloat(", expr, ")");
  const absl::string_view function = IsFloat(type)             ? "as_float"
                                     : IsUnsignedInteger(type) ? "as_uint"
                                                               : "as_int";
  return absl::StrCat(function, "(", expr, ", ", 8 * ByteWidth(type), ")");
}

std::vector<std::string> IndexNames(int64_t count, absl::string_view prefix) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

std::string Read(absl::string_view tensor, absl::Span<const std::string> indices) {
  return absl::StrCat(tensor, "[", absl::StrJoin(indices, ", "), "]");
}

std::string Write(absl::string_view tensor, absl::Span<const std::string> indices,
                  absl::Span<const int64_t> dims) {
  if (indices.empty()) return absl::StrCat(tensor, "[]");
  return absl::StrCat(tensor, "[", absl::StrJoin(indices, ", "), " : ", absl::StrJoin(dims, ", "),
                      "]");
}

std::string ReshapeCall(absl::string_view tensor, absl::Span<const int64_t> dims) {
  std::string call = absl::StrCat("reshape(", tensor);
  for (int64_t dim : dims) absl::StrAppend(&call, ", ", dim);
  return call + ")";
}

std::string TileFunction(absl::string_view inputs, absl::string_view outputs,
                         absl::Span<const std::string> statements) {
  std::string text = absl::StrCat("function (", inputs, ") -> (", outputs, ") {\n");
  for (const std::string& statement : statements) absl::StrAppend(&text, "  ", statement, ";\n");
  return text + "}\n";
}

std::string NameList(absl::string_view prefix, int64_t count) {
  return absl::StrJoin(IndexNames(count, prefix), ", ");
}

}  // namespace tartan::onnx
