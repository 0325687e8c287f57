// SPDX-License-Identifier: Apache-2.0
// Makes sm_90a instructions available in OpenCL kernels. NVIDIA's OpenCL compiler targets sm_90,
// whose assembler rejects the instructions of Hopper's tensor cores (wgmma). Kernels therefore
// contain them as comments in inline assembly, which the compiler copies into the program's binary.
// The binary is text (PTX): OpenHiddenAssembly uncomments the instructions and replaces the target,
// and the driver assembles the result as a new program.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Prefix of a line of inline assembly that contains an instruction for sm_90a.
inline constexpr absl::string_view kHiddenAssembly = "//@tartan ";
// Macro that is defined for devices that accept such programs.
inline constexpr absl::string_view kHasWarpGroups = "TARTAN_WARP_GROUPS";
// Macro that is defined for devices with tensor cores usable by single warps and with asynchronous
// copies to local memory. These instructions need not be hidden.
inline constexpr absl::string_view kHasMatrixUnit = "TARTAN_HAS_MATRIX_UNIT";

// Uncomments the hidden instructions in a program's PTX and sets the target sm_90a. Returns false
// if there are none, because kernels need not call every function of their source. Returns Internal
// for PTX with an unexpected target.
absl::StatusOr<bool> OpenHiddenAssembly(std::string* ptx);

}  // namespace tartan::opencl
