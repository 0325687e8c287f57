// SPDX-License-Identifier: Apache-2.0
// Names of OpenCL C types; shared by the dialect and its helper functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// "float", "uchar4". bool is "int": its scalars are computed as 0 and 1.
std::string TypeName(const loop::Type& type);

// The type of an element in memory: bool is "uchar", the 16-bit floats "half" and "ushort".
std::string MemoryTypeName(DataType stored);

// The signed (unsigned) integer type as wide as `type`, with its lanes: what vector comparisons
// of `type` return.
std::string SignedTypeName(const loop::Type& type);
std::string UnsignedTypeName(const loop::Type& type);

// The inverse of TypeName for integers and floats; kInvalid elements for another name.
loop::Type TypeFromName(absl::string_view name);

// "s0" … "sf": the name of a vector's element.
std::string LaneName(int lane);

// tt_<name>_<scalar type>(a.s0, b.s0) and so on for every lane, separated by commas.
std::string CallsOfLanes(absl::string_view name, const loop::Type& type);

}  // namespace tartan::opencl
