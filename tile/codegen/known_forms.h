// SPDX-License-Identifier: Apache-2.0
// Recognizes expressions and loops for which dialects have functions or hints.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// The expression as one of kDot16, kDot8, kDot8u and kDotBFloat16, or null.
const loop::Apply* AsDot(const loop::ExprPtr& expr);

// The operands of Dialect::float_of_bits_from.
struct FloatOfBits {
  loop::ExprPtr word;
  int64_t shift = 0;
  int64_t bits = 0;
};

// Matches a conversion to float32 of ((word >> shift) << 28) >> 28 (4 bits; 30 for 2 bits) in
// vectors of int32.
std::optional<FloatOfBits> AsFloatOfBits(const loop::Apply& cast, const loop::Type& type);

// Matches x = x + y and x = x * y of floats, to be printed as x += y and x *= y. Nothing if the
// dialect has one function for y and the sum.
struct Update {
  const char* sign;
  loop::ExprPtr value;
};
std::optional<Update> AsUpdate(const loop::Assign& assign);

// The line before a loop to unroll, from the dialect.
const std::string& UnrollOf(const loop::For& loop, const Dialect& dialect);

}  // namespace tartan::codegen
