// SPDX-License-Identifier: Apache-2.0
// The element types of tensors and what is known of each.
#pragma once

#include <cstdint>
#include <ostream>

#include "absl/strings/string_view.h"

namespace tartan {

// The numbers equal those of proto::DataType.
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
  kFloat16 = 10,   // IEEE binary16, storage; arithmetic is float32
  kBFloat16 = 11,  // storage; arithmetic is float32
  kFloat32 = 12,
  kFloat64 = 13,
};

// Bytes of one element; 0 for kInvalid.
int64_t ByteWidth(DataType type);

bool IsFloat(DataType type);
bool IsSignedInteger(DataType type);
bool IsUnsignedInteger(DataType type);
// Signed or unsigned; bool is no integer.
bool IsInteger(DataType type);

// The type in which values of `type` are computed: float32 for the 16-bit floats, else itself.
DataType ComputeType(DataType type);

// "float32", "int8", "bool" …; "invalid".
absl::string_view Name(DataType type);

// The inverse of Name; kInvalid for an unknown name.
DataType DataTypeFromName(absl::string_view name);

// The least and greatest finite value of an integer or bool type as two's complement bits; for
// uint64 the greatest is all ones.
int64_t MinInteger(DataType type);
int64_t MaxInteger(DataType type);

std::ostream& operator<<(std::ostream& out, DataType type);

}  // namespace tartan
