// SPDX-License-Identifier: Apache-2.0
#include "tile/base/data_type.h"

#include <array>
#include <limits>

namespace tartan {
namespace {

enum class Kind { kNone, kBool, kSigned, kUnsigned, kFloat };

struct TypeRow {
  absl::string_view name;
  int64_t bytes;
  Kind kind;
};

// Rows in the order of the enumeration.
constexpr std::array<TypeRow, 14> kTypes = {{
    {"invalid", 0, Kind::kNone},
    {"bool", 1, Kind::kBool},
    {"int8", 1, Kind::kSigned},
    {"int16", 2, Kind::kSigned},
    {"int32", 4, Kind::kSigned},
    {"int64", 8, Kind::kSigned},
    {"uint8", 1, Kind::kUnsigned},
    {"uint16", 2, Kind::kUnsigned},
    {"uint32", 4, Kind::kUnsigned},
    {"uint64", 8, Kind::kUnsigned},
    {"float16", 2, Kind::kFloat},
    {"bfloat16", 2, Kind::kFloat},
    {"float32", 4, Kind::kFloat},
    {"float64", 8, Kind::kFloat},
}};

const TypeRow& Row(DataType type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

int64_t ByteWidth(DataType type) { return Row(type).bytes; }
bool IsFloat(DataType type) { return Row(type).kind == Kind::kFloat; }
bool IsSignedInteger(DataType type) { return Row(type).kind == Kind::kSigned; }
bool IsUnsignedInteger(DataType type) { return Row(type).kind == Kind::kUnsigned; }
bool IsInteger(DataType type) { return IsSignedInteger(type) || IsUnsignedInteger(type); }

DataType ComputeType(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16 ? DataType::kFloat32 : type;
}

absl::string_view Name(DataType type) { return Row(type).name; }

DataType DataTypeFromName(absl::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

int64_t MinInteger(DataType type) {
  if (!IsSignedInteger(type)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * ByteWidth(type));
}

int64_t MaxInteger(DataType type) {
  if (type == DataType::kBool) return 1;
  const int64_t unused_bits = 64 - 8 * ByteWidth(type);
  if (IsSignedInteger(type)) return std::numeric_limits<int64_t>::max() >> unused_bits;
  return static_cast<int64_t>(std::numeric_limits<uint64_t>::max() >> unused_bits);
}

std::ostream& operator<<(std::ostream& out, DataType type) { return out << Name(type); }

}  // namespace tartan
