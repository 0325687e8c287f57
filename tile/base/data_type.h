// SPDX-License-Identifier: Apache-2.0
// The element types of tensors and their properties.
#pragma once

#include <cstdint>
#include <ostream>

#include "absl/strings/string_view.h"

namespace tartan {

// The values are equal to the values of proto::DataType.
enum class DataType : uint8_t {
  kInvalid = 0,
  kBool = 1,  // one byte, 0 or 1
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat16 = 10,   // IEEE binary16, storage only; arithmetic is float32
  kBFloat16 = 11,  // storage only; arithmetic is float32
  kFloat32 = 12,
  kFloat64 = 13,
};

// Bytes of one element; 0 for kInvalid.
int64_t ByteWidth(DataType type);

bool IsFloat(DataType type);
bool IsSignedInteger(DataType type);
bool IsUnsignedInteger(DataType type);
// Signed or unsigned integers; bool is not an integer.
bool IsInteger(DataType type);

// The type in which values of `type` are computed: float32 for the 16-bit floats, otherwise `type`.
DataType ComputeType(DataType type);

// "float32", "int8", "bool" …; "invalid".
absl::string_view Name(DataType type);

// The inverse of Name; kInvalid for an unknown name.
DataType DataTypeFromName(absl::string_view name);

// The minimum and maximum value of an integer or bool type as two's complement bits; the maximum of
// uint64 is all ones.
int64_t MinInteger(DataType type);
int64_t MaxInteger(DataType type);

std::ostream& operator<<(std::ostream& out, DataType type);

}  // namespace tartan
