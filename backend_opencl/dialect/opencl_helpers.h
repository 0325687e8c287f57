// SPDX-License-Identifier: Apache-2.0
// Generates helper functions of OpenCL C on demand from their names, tt_<function>_<type>: for
// example tt_div_int, tt_max_float8, tt_atomic_add_half_global. They implement operations of
// tile/base/scalar_value.h that OpenCL C lacks or defines differently.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Returns the text that must precede the first use of an identifier: a helper function or an
// extension pragma. Returns "" for other identifiers.
std::string Definition(absl::string_view identifier);

}  // namespace tartan::opencl
