// SPDX-License-Identifier: Apache-2.0
// Strength reduction: divisions by constants become multiplications where a rounding hides it.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces float32 divisions by a literal by multiplications with its reciprocal, if the quotient
// is rounded to a 16-bit type, directly or after additions and multiplications. The result differs
// from the quotient by at most 1.5 ulp of float32. A correctly rounded division costs a GPU ten
// instructions and a branch per element.
ir::Program MultiplyByReciprocals(const ir::Program& program);

}  // namespace tartan::graph
