// SPDX-License-Identifier: Apache-2.0
// Expressions that dialects have functions for, because processors have instructions. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// kDot16, kDot8, kDot8u or kDotBFloat16, or null.
const loop::Apply* AsDot(const loop::ExprPtr& expr);

// The operands of Dialect::float_of_bits_from.
struct FloatOfBits {
  loop::ExprPtr word;
  int64_t shift = 0;
  int64_t bits = 0;
};

// Of ((word >> shift) << 28) >> 28, or 30 for two bits, in vectors of int32 that are converted to
// float32; nothing for any other expression of that type.
std::optional<FloatOfBits> AsFloatOfBits(const loop::Apply& cast, const loop::Type& type);

// x = x + y and x = x * y of floats, which are written x += y and x *= y; nothing of others, nor
// where the dialect has one function for y and the sum.
struct Update {
  const char* sign;
  loop::ExprPtr value;
};
std::optional<Update> AsUpdate(const loop::Assign& assign);

}  // namespace tartan::codegen
