// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_types.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace tartan::opencl {
namespace {

struct NamedType {
  absl::string_view name;
  DataType type;
};

constexpr NamedType kTypes[] = {{"char", DataType::kInt8},     {"short", DataType::kInt16},
                                {"int", DataType::kInt32},     {"long", DataType::kInt64},
                                {"uchar", DataType::kUInt8},   {"ushort", DataType::kUInt16},
                                {"uint", DataType::kUInt32},   {"ulong", DataType::kUInt64},
                                {"float", DataType::kFloat32}, {"double", DataType::kFloat64}};

absl::string_view ElementName(DataType type) {
  for (const NamedType& row : kTypes) {
    if (row.type == type) return row.name;
  }
  return IsFloat(type) ? "float" : "int";  // 16-bit floats, bool
}

std::string WithLanes(absl::string_view element, int lanes) {
  return lanes == 1 ? std::string(element) : absl::StrCat(element, lanes);
}

}  // namespace

std::string TypeName(const loop::Type& type) {
  return WithLanes(ElementName(type.element), type.lanes);
}

std::string MemoryTypeName(DataType stored) {
  switch (stored) {
    case DataType::kBool:
      return "uchar";
    case DataType::kFloat16:
      return "half";
    case DataType::kBFloat16:
      return "ushort";
    default:
      return std::string(ElementName(stored));
  }
}

std::string SignedTypeName(const loop::Type& type) {
  switch (ByteWidth(type.element)) {
    case 1:
      return WithLanes("char", type.lanes);
    case 2:
      return WithLanes("short", type.lanes);
    case 4:
      return WithLanes("int", type.lanes);
    default:
      return WithLanes("long", type.lanes);
  }
}

std::string UnsignedTypeName(const loop::Type& type) {
  return absl::StrCat("u", SignedTypeName(type));
}

loop::Type TypeFromName(absl::string_view name) {
  for (const NamedType& row : kTypes) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, row.name)) continue;
    int lanes = 1;
    if (rest.empty() || absl::SimpleAtoi(rest, &lanes)) return loop::Type{row.type, lanes};
  }
  return {};
}

std::string LaneName(int lane) { return absl::StrCat("s", absl::Hex(lane)); }

std::string CallsOfLanes(absl::string_view name, const loop::Type& type) {
  const std::string scalar = absl::StrCat("tt_", name, "_", TypeName(loop::Type{type.element, 1}));
  std::vector<std::string> calls;
  for (int lane = 0; lane < type.lanes; ++lane) {
    const std::string element = LaneName(lane);
    calls.push_back(absl::StrCat(scalar, "(a.", element, ", b.", element, ")"));
  }
  return absl::StrJoin(calls, ", ");
}

}  // namespace tartan::opencl
