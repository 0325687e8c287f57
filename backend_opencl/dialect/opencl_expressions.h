// SPDX-License-Identifier: Apache-2.0
// Prints OpenCL C expressions: calls, operators with the required parentheses, and constants.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// True for integer types narrower than int. C computes their scalars as int, so results are
// truncated to the type's width.
bool IsNarrowInteger(const loop::Type& type);

// Call prints function(arguments). CallHelper prints tt_name_type(arguments), a function of
// opencl_helpers.h.
codegen::Code Call(absl::string_view function, absl::Span<const codegen::Code> arguments);
codegen::Code CallHelper(absl::string_view name, const loop::Type& type,
                         absl::Span<const codegen::Code> arguments);

codegen::Code CastTo(absl::string_view type_name, const codegen::Code& value);
codegen::Code Unary(absl::string_view sign, const codegen::Code& operand);
codegen::Code Infix(absl::string_view sign, codegen::Precedence precedence, const codegen::Code& a,
                    const codegen::Code& b);

// Truncates a result computed as int to the width of a narrow type.
codegen::Code Wrapped(const loop::Type& type, const codegen::Code& code);

// Prints a constant that reads back as exactly the same value. A vector type gets the value in all
// lanes.
codegen::Code IntLiteral(int64_t value, const loop::Type& type);
codegen::Code FloatLiteral(double value, const loop::Type& type);

}  // namespace tartan::opencl
