// SPDX-License-Identifier: Apache-2.0
// The precision of the factors of matmuls. Accumulation is always float32.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "tile/base/data_type.h"

namespace tartan {

// The input formats of tensor cores (MMA): tf32 (float32 with a 10-bit mantissa, as in float16), or
// 16-bit floats.
enum class MatrixFormat : uint8_t { kTf32, kBFloat16, kFloat16 };

// The precision that a user allows for float32 matmuls: all bits of the factors, or a lower format.
// Two factors that are stored in the same 16-bit type use tensor cores with every precision. kInt8
// quantizes matmuls with constant weights to 8-bit integers, with a scale per row of activations
// and per column of weights (tile/graph/matmul/quantize_matmuls.h); other matmuls are as with
// kFloat32.
enum class Precision : uint8_t { kFloat32, kTf32, kBFloat16, kFloat16, kInt8 };

// "float32", "tf32", "bfloat16", "float16", "int8".
absl::string_view Name(Precision precision);
std::optional<Precision> PrecisionFromName(absl::string_view name);

// Nothing for kFloat32, and for kInt8, which does not use tensor cores.
std::optional<MatrixFormat> FormatOf(Precision precision);
absl::string_view Name(MatrixFormat format);
// The element type of a tile: kFloat32 for kTf32.
DataType ElementType(MatrixFormat format);

// Rounds to nearest, ties away from zero, as the hardware conversion does; NaN stays NaN.
float RoundToTf32(float value);

}  // namespace tartan
