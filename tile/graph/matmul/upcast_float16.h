// SPDX-License-Identifier: Apache-2.0
// Upcasts intermediate values of 16-bit float types to float32.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Converts 16-bit float values to float32, except for these:
//
// - inputs, outputs, and explicit conversions to 16 bits;
// - views, sorted tensors and replacing scatters, which keep their operand's type (updates are
//   rounded first);
// - running sums that are only outputs;
// - with `has_matrix_unit`: factors and results of matmuls of one 16-bit type, because the unit
//   multiplies 16-bit factors; results of elementwise operations that several operations read, or
//   one that is not elementwise, because memory holds them; and elements of such values that
//   operations move or select (maxima).
//
// Arithmetic is in float32 in any case, so this only removes roundings. Afterwards
// operands of one operation may differ in type (float16 and float32); ir::VerifyStored defines the
// remaining rules.
ir::Program UpcastFloat16(const ir::Program& program, bool has_matrix_unit = false);

}  // namespace tartan::graph
