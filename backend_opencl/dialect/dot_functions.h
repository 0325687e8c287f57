// SPDX-License-Identifier: Apache-2.0
// Generates OpenCL C functions for packed dot operations (several 8- or 16-bit elements per 32-bit
// word), which use the dot instructions of the device.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Returns the definition of tt_<name>_<type>, or "" for other names. `type` is int32 or a vector of
// it, unless stated otherwise:
//
// - dot16, dot8, dot8u: the scalar operations of the same name.
// - sumdot16(sum, a, b): sum + dot16(a, b); sumdot8u likewise.
// - pairbf16, sumdotbf16: named by float32; the sum is float32. dotbf16: named by int32.
//
// Build options enable instructions that compilers do not generate on their own (device_query.cc,
// hardware_probe.cc): TARTAN_DP4A, TARTAN_AVX512_VNNI, TARTAN_AVX512_BF16. TARTAN_PORTABLE disables
// all builtins.
std::string DotFunction(absl::string_view name, const loop::Type& type);

// Returns the definition of the macro TT_EVEX, which encodes an instruction that the compiler's
// assembler may not know.
std::string EvexDefinition();

}  // namespace tartan::opencl
