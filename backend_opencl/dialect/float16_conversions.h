// SPDX-License-Identifier: Apache-2.0
// Generates OpenCL C conversions between float32 and 16-bit floats.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Returns the definition of tt_<name>, or "" for other names: from_half_<ushortN>,
// to_half_<floatN>, roundhalf_<floatN> (rounds to a half value but stays float32), and the same for
// bfloat16.
std::string Float16Conversion(absl::string_view name);

}  // namespace tartan::opencl
