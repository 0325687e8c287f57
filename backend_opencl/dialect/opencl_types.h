// SPDX-License-Identifier: Apache-2.0
// Names OpenCL C types, for the dialect and its helper functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Returns for example "float" or "uchar4". The name of bool is "int"; its scalars are 0 and 1.
std::string TypeName(const loop::Type& type);

// Returns the type of an element in memory: "uchar" for bool, "half" and "ushort" for 16-bit
// floats.
std::string MemoryTypeName(DataType stored);

// Return the signed and the unsigned integer type with the width and lanes of `type`. Vector
// comparisons of `type` return the signed one.
std::string SignedTypeName(const loop::Type& type);
std::string UnsignedTypeName(const loop::Type& type);

// Inverse of TypeName for integers and floats. Unknown names give an element of kInvalid.
loop::Type TypeFromName(absl::string_view name);

// Returns the name of a vector element: "s0" ... "sf".
std::string LaneName(int lane);

// Returns tt_<name>_<scalar type>(a.s0, b.s0), ... with one call per lane, separated by commas.
std::string CallsOfLanes(absl::string_view name, const loop::Type& type);

}  // namespace tartan::opencl
