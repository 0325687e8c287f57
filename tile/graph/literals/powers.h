// SPDX-License-Identifier: Apache-2.0
// Powers with small whole exponents, as products.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where powers of floats whose exponent is the literal -1, 1, 2, 3 or 4 are
// quotients, their base, or products. A square is the same to the last bit, the other products are
// off by one or two roundings. Drivers compute powers element by element: where a kernel stores
// squares for a normalisation, they take longer than its product of matrices.
ir::Program MultiplyPowersOut(const ir::Program& program);

}  // namespace tartan::graph
