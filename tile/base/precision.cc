// SPDX-License-Identifier: Apache-2.0
#include "tile/base/precision.h"

#include <bit>
#include <cmath>

namespace tartan {

absl::string_view Name(Precision precision) {
  if (precision == Precision::kInt8) return "int8";
  const std::optional<MatrixFormat> format = FormatOf(precision);
  return format.has_value() ? Name(*format) : "float32";
}

std::optional<Precision> PrecisionFromName(absl::string_view name) {
  for (const Precision precision : {Precision::kFloat32, Precision::kTf32, Precision::kBFloat16,
                                    Precision::kFloat16, Precision::kInt8}) {
    if (Name(precision) == name) return precision;
  }
  return std::nullopt;
}

std::optional<MatrixFormat> FormatOf(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
    case Precision::kInt8:
      return std::nullopt;
    case Precision::kTf32:
      return MatrixFormat::kTf32;
    case Precision::kBFloat16:
      return MatrixFormat::kBFloat16;
    case Precision::kFloat16:
      return MatrixFormat::kFloat16;
  }
  return std::nullopt;
}

absl::string_view Name(MatrixFormat format) {
  switch (format) {
    case MatrixFormat::kTf32:
      return "tf32";
    case MatrixFormat::kBFloat16:
      return "bfloat16";
    case MatrixFormat::kFloat16:
      return "float16";
  }
  return "";
}

DataType ElementType(MatrixFormat format) {
  switch (format) {
    case MatrixFormat::kTf32:
      return DataType::kFloat32;
    case MatrixFormat::kBFloat16:
      return DataType::kBFloat16;
    case MatrixFormat::kFloat16:
      return DataType::kFloat16;
  }
  return DataType::kInvalid;
}

float RoundToTf32(float value) {
  if (!std::isfinite(value)) return value;
  constexpr uint32_t kHalf = 1u << 12;  // half of the last bit that is kept
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + kHalf) & ~(2 * kHalf - 1));
}

}  // namespace tartan
