// Keeps intermediate values of the 16-bit float types in float32.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Inputs, outputs, explicit conversions to 16 bits and results of special operations keep their
// type; every other 16-bit float value becomes float32. Arithmetic is float32 anyway: this drops
// the rounding between kernels, as fusion drops it within one. Afterwards operands of one operation
// may differ in type (a float16 input beside a float32 value).
ir::Program WidenHalves(const ir::Program& program);

}  // namespace tartan::graph
