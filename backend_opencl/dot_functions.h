// Sums of products of the parts of words in OpenCL C, by the instructions that devices have for
// them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// The definition of tt_dot16_<type> or tt_dot8_<type> (ScalarOp::kDot16, kDot8), of int32 or
// vectors of it.
std::string DotFunction(absl::string_view name, const sem::Type& type);

}  // namespace tartan::opencl
