// SPDX-License-Identifier: Apache-2.0
// Sums of products of the parts of words in OpenCL C, by the instructions that devices have for
// them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// The definition of tt_<name>_<type>, of int32 or vectors of it, or "": dot16, dot8 and dot8u are
// the scalar operations of that name, sumdot16(sum, a, b) is sum + dot16(a, b), sumdot8u likewise.
// pairbf16 and sumdotbf16, whose sum is float32, are named by float32, dotbf16 by int32.
//
// Build options tell of instructions that compilers do not find by themselves (device_query.cc,
// hardware_probe.cc): TARTAN_DP4A, TARTAN_AVX512_VNNI, TARTAN_AVX512_BF16. With TARTAN_PORTABLE
// there are no builtins.
std::string DotFunction(absl::string_view name, const loop::Type& type);

// The definition of TT_EVEX, an instruction that the compiler need not know.
std::string EvexDefinition();

}  // namespace tartan::opencl
