// SPDX-License-Identifier: Apache-2.0
// Recognizes expressions for which dialects have functions, because processors have instructions.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>

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

}  // namespace tartan::codegen
