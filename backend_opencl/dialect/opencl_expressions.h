// SPDX-License-Identifier: Apache-2.0
// Printed OpenCL C expressions: calls, operators with the parentheses they need, literals.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Scalars of these are computed as int in C and cut to their width afterwards.
bool IsNarrowInteger(const loop::Type& type);

// function(arguments); tt_name_type(arguments), a function of opencl_helpers.h.
codegen::Code Call(absl::string_view function, absl::Span<const codegen::Code> arguments);
codegen::Code CallHelper(absl::string_view name, const loop::Type& type,
                         absl::Span<const codegen::Code> arguments);

codegen::Code CastTo(absl::string_view type_name, const codegen::Code& value);
codegen::Code Unary(absl::string_view sign, const codegen::Code& operand);
codegen::Code Infix(absl::string_view sign, codegen::Precedence precedence, const codegen::Code& a,
                    const codegen::Code& b);

// Cuts a result computed as int to the width of a narrow type.
codegen::Code Wrapped(const loop::Type& type, const codegen::Code& code);

// Literals read back as exactly the value; with lanes they are splatted.
codegen::Code IntLiteral(int64_t value, const loop::Type& type);
codegen::Code FloatLiteral(double value, const loop::Type& type);

}  // namespace tartan::opencl
