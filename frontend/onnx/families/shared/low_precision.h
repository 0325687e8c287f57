// SPDX-License-Identifier: Apache-2.0
// Conversion between low-precision types (8 bits and fewer, api/element.h) and types that Tile
// computes with. Decoding uses lookup tables, encoding rounding arithmetic. Both run on the device.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/values/value_proto.h"

namespace tartan::onnx {

// Options for encoding.
// PowerRounding: rounding to float8e8m0, which has powers of two only. kNearest rounds ties up.
enum class PowerRounding : uint8_t { kUp, kDown, kNearest };
struct EncodingOptions {
  bool saturate = true;  // false: overflow gives infinity, or NaN in formats without infinity
  PowerRounding powers = PowerRounding::kUp;
};

// Reads the attributes 'saturate' and 'round_mode'.
absl::StatusOr<EncodingOptions> ReadEncodingOptions(const NodeContext& context);

// Decodes a tensor: low-precision floats to float32, low-precision integers to their storage type.
// Other numbers are unchanged. InvalidArgument if `value` is not a tensor, Unimplemented for
// strings.
absl::StatusOr<Tensor> DecodeLowPrecision(const NodeContext& context, const Value& value);

// Encodes plain numbers as elements of any type but strings. Floats are truncated to integers, and
// integers keep their lowest bits. Floats are rounded to nearest, ties to even.
absl::StatusOr<Value> EncodeElements(const NodeContext& context, const Tensor& x,
                                     const ElementType& to, const EncodingOptions& how);

// The minimum and maximum of an integer type; for uint64 the maximum is as in MaxInteger.
struct IntegerLimits {
  int64_t least = 0;
  int64_t greatest = 0;
};
IntegerLimits LimitsOf(const ElementType& type);

bool IsFloat(const ElementType& type);
bool IsInteger(const ElementType& type);

// The element type of a value; unspecified unless it is a tensor.
ElementType TypeOf(const Value& value);
std::string NameOf(const ElementType& type);

}  // namespace tartan::onnx
