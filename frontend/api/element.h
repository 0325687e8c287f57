// SPDX-License-Identifier: Apache-2.0
// Element types that Tile does not compute with: strings and the low-precision types of quantised
// models. Each is stored in a tensor of a type that Tile supports, so operators that only move
// elements need no special case.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "tile/base/data_type.h"

namespace tartan::api {

enum class Element : uint8_t {
  kPlain,         // the tensor's own type
  kString,        // int64: indices into a sorted list of words
  kFloat8E4M3FN,  // uint8: bit patterns, as for all floats below
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0,
  kFloat6E2M3,
  kFloat6E3M2,
  kFloat4E2M1,
  kInt4,   // int8: the values, as for all integers below
  kUInt4,  // uint8
  kInt2,   // int8
  kUInt2,  // uint8
};

// The type of the tensor that holds such elements; kInvalid for kPlain.
DataType StorageType(Element element);

// "string", "float8e4m3fn" …; empty for kPlain.
absl::string_view Name(Element element);

// Bits per element where a file packs them, otherwise 8; 0 for kPlain and kString.
int PackedBits(Element element);

}  // namespace tartan::api
