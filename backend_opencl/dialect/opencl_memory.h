// SPDX-License-Identifier: Apache-2.0
// Reads and writes of buffers and arrays in OpenCL C; shared by the dialect and its helper
// functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// buffer + index, or the buffer itself.
std::string Address(const std::string& buffer, const codegen::Code& index);

std::string StoredTypeName(const loop::Type& type, codegen::MemorySpace space);

// Vectors that may begin anywhere are read and written by functions of ours where `by_functions`,
// else by vloadN and vstoreN.
codegen::Code LoadValue(const codegen::Place& place, const loop::Type& type, bool by_functions);
std::string StoreValue(const codegen::Place& place, const loop::Type& type,
                       const codegen::Code& value, bool by_functions);

// The definition of one of these functions, by its name without "tt_": load_float16,
// store_private_ushort8; "" for other names.
std::string MemoryHelper(absl::string_view name);

}  // namespace tartan::opencl
