// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and 16-bit floats in OpenCL C.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// The definition of tt_<name>, or "": from_half_<ushortN>, to_half_<floatN>, roundhalf_<floatN>
// (the same numbers in float32), and likewise of bfloat16.
std::string NarrowFloatFunction(absl::string_view name);

}  // namespace tartan::opencl
