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

}  // namespace tartan::codegen
