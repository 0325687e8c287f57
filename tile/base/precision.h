// SPDX-License-Identifier: Apache-2.0
// How exactly the factors of products are taken. Sums are float32 in any case.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "tile/base/data_type.h"

namespace tartan {

// What a matrix unit multiplies: float32 of which it sees 10 bits of the fraction (as many as
// float16 has, with float32's exponents), or 16-bit floats.
enum class MatrixFormat : uint8_t { kTf32, kBFloat16, kFloat16 };

// What a user allows products of float32 to be computed with: all bits of the factors, or those of
// a format. Factors of less precision lose nothing by a format that holds them. With kInt8 factors
// of products by constant weights are integers of 8 bits with a scale for each row of activations
// and each column of weights (tile/graph/products/quantize_products.h); other products are as with
// kFloat32.
enum class Precision : uint8_t { kFloat32, kTf32, kBFloat16, kFloat16, kInt8 };

// "float32", "tf32", "bfloat16", "float16", "int8".
absl::string_view Name(Precision precision);
std::optional<Precision> PrecisionFromName(absl::string_view name);

// None for kFloat32, and none for kInt8, which no matrix unit is used for.
std::optional<MatrixFormat> FormatOf(Precision precision);
absl::string_view Name(MatrixFormat format);
// The type of a tile's elements: kFloat32 for kTf32.
DataType ElementType(MatrixFormat format);

// To nearest, ties away from zero, as matrix units' own conversions do; NaN stays NaN.
float RoundToTf32(float value);

}  // namespace tartan
