// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/element.h"

namespace tartan::api {
namespace {

struct ElementRow {
  absl::string_view name;
  DataType storage;
  int bits;
};

ElementRow RowOf(Element element) {
  switch (element) {
    case Element::kPlain:
      return {"", DataType::kInvalid, 0};
    case Element::kString:
      return {"string", DataType::kInt64, 0};
    case Element::kFloat8E4M3FN:
      return {"float8e4m3fn", DataType::kUInt8, 8};
    case Element::kFloat8E4M3FNUZ:
      return {"float8e4m3fnuz", DataType::kUInt8, 8};
    case Element::kFloat8E5M2:
      return {"float8e5m2", DataType::kUInt8, 8};
    case Element::kFloat8E5M2FNUZ:
      return {"float8e5m2fnuz", DataType::kUInt8, 8};
    case Element::kFloat8E8M0:
      return {"float8e8m0", DataType::kUInt8, 8};
    case Element::kFloat6E2M3:
      return {"float6e2m3", DataType::kUInt8, 6};
    case Element::kFloat6E3M2:
      return {"float6e3m2", DataType::kUInt8, 6};
    case Element::kFloat4E2M1:
      return {"float4e2m1", DataType::kUInt8, 4};
    case Element::kInt4:
      return {"int4", DataType::kInt8, 4};
    case Element::kUInt4:
      return {"uint4", DataType::kUInt8, 4};
    case Element::kInt2:
      return {"int2", DataType::kInt8, 2};
    case Element::kUInt2:
      return {"uint2", DataType::kUInt8, 2};
  }
  return {"", DataType::kInvalid, 0};
}

}  // namespace

DataType StorageType(Element element) { return RowOf(element).storage; }

absl::string_view Name(Element element) { return RowOf(element).name; }

int PackedBits(Element element) { return RowOf(element).bits; }

}  // namespace tartan::api
