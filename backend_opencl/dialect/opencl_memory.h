// SPDX-License-Identifier: Apache-2.0
// Prints loads and stores of buffers and arrays in OpenCL C, for the dialect and its helper
// functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Prints buffer + index, or only the buffer if the index is 0.
std::string Address(const std::string& buffer, const codegen::Code& index);

std::string StoredTypeName(const loop::Type& type, codegen::MemorySpace space);

// Print a load or store. Unaligned vectors use helper functions of this file if `by_functions` is
// set, and otherwise vloadN and vstoreN.
codegen::Code LoadValue(const codegen::Place& place, const loop::Type& type, bool by_functions);
std::string StoreValue(const codegen::Place& place, const loop::Type& type,
                       const codegen::Code& value, bool by_functions);

// Returns the definition of such a helper function by its name without "tt_", for example
// load_float16 or store_private_ushort8. Returns "" for other names.
std::string MemoryHelper(absl::string_view name);

}  // namespace tartan::opencl
