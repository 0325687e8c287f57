// SPDX-License-Identifier: Apache-2.0
// Keeps intermediate values of the 16-bit float types in float32.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Inputs, outputs and explicit conversions to 16 bits keep their type, views and sorted tensors
// that of their operand, as do scatters that put elements in the place of others: what they put
// there is rounded first. Results of running sums that are nothing but outputs keep theirs too.
// Every other 16-bit float value becomes float32. Arithmetic is float32 anyway: this drops the
// rounding between kernels, as fusion drops it within one. Afterwards operands of one operation may
// differ in type (a float16 input beside a float32 value): ir::VerifyStored says what still holds.
ir::Program WidenHalves(const ir::Program& program);

}  // namespace tartan::graph
