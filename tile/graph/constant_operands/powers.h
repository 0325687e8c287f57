// SPDX-License-Identifier: Apache-2.0
// Strength reduction: powers with small integer exponents become multiplications.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces float powers with a literal exponent -1, 1, 2, 3 or 4 by a reciprocal, the base, or
// multiplications. Squares are bit-exact; the others differ by one or two roundings.
// Drivers compute powers element by element. In a kernel that stores squares for a normalisation,
// they take longer than the matmul itself.
ir::Program ExpandPowers(const ir::Program& program);

}  // namespace tartan::graph
