// SPDX-License-Identifier: Apache-2.0
// Instructions that NVIDIA's OpenCL compiler does not know. It compiles for sm_90, whose assembler
// refuses those of Hopper's matrix unit (wgmma), though the device has them: they belong to sm_90a.
// Inline assembly is text to the compiler, so a kernel hides them in comments, which come out in
// the program's binary; that is text, too (PTX). There the comments are opened and the target is
// exchanged, and the driver assembles the result as a program of its own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Where a line of inline assembly begins with it, the rest is an instruction for sm_90a.
inline constexpr absl::string_view kHiddenAssembly = "//@tartan ";
// The macro that is defined where devices take such programs.
inline constexpr absl::string_view kHasWarpGroups = "TARTAN_WARP_GROUPS";
// The macro that is defined where they, or others, have a matrix unit that warps use, and copies to
// local memory: instructions that need not be hidden.
inline constexpr absl::string_view kHasMatrixUnit = "TARTAN_HAS_MATRIX_UNIT";

// Opens the hidden instructions of a program's text, for the target that has them. False where
// there are none: its kernels need not call all the functions of their source. Internal for a text
// with another target.
absl::StatusOr<bool> OpenHiddenAssembly(std::string* ptx);

}  // namespace tartan::opencl
