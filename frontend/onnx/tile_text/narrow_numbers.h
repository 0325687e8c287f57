// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 bits and less (api/element.h) to numbers Tile computes with, and back: tables for
// the one, rounding arithmetic for the other, on the device like everything else.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/model/value_proto.h"

namespace tartan::onnx {

// What becomes of numbers outside a narrow float's range, and of those between two powers of two
// in float8e8m0, which has nothing else.
enum class PowerRounding : uint8_t { kUp, kDown, kNearest };  // nearest: halves up
struct Narrowing {
  bool saturate = true;  // false: infinity, or NaN where the format has none
  PowerRounding powers = PowerRounding::kUp;
};

// Attributes 'saturate' and 'round_mode'.
absl::StatusOr<Narrowing> ReadNarrowing(const NodeContext& context);

// The numbers of a tensor in a type that has all of them: float32 for narrow floats, what stores
// them for narrow integers, themselves for others. InvalidArgument for what is no tensor,
// Unimplemented for strings.
absl::StatusOr<api::Tensor> PlainNumbers(const NodeContext& context, const api::Value& value);

// Plain numbers as elements of any type but strings. Floats become integers by truncation, and
// integers keep their lowest bits; floats are rounded to nearest, ties to even.
absl::StatusOr<api::Value> NumbersOf(const NodeContext& context, const api::Tensor& x,
                                     const ElementType& to, const Narrowing& how);

// The least and greatest number of an integer type; for uint64 both as in MaxInteger.
struct IntegerLimits {
  int64_t least = 0;
  int64_t greatest = 0;
};
IntegerLimits LimitsOf(const ElementType& type);

bool IsFloat(const ElementType& type);
bool IsInteger(const ElementType& type);

// The element type of a value; nothing sensible for what is no tensor.
ElementType TypeOf(const api::Value& value);
std::string NameOf(const ElementType& type);

}  // namespace tartan::onnx
