// SPDX-License-Identifier: Apache-2.0
// Helper functions of generated OpenCL C, made on demand from their names: tt_<function>_<type>,
// for instance tt_div_int, tt_max_float8, tt_atomic_add_half_global. They hold what the language's
// operators and built-in functions define otherwise than tile/base/scalar_value.h, or not at all.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// The text an identifier needs before its use: a helper function, or the pragma of an extension;
// "" for other identifiers.
std::string Definition(absl::string_view identifier);

}  // namespace tartan::opencl
