// SPDX-License-Identifier: Apache-2.0
// Moves scalar factors of matmul operands to the result, such as the scale of queries and keys in
// attention.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces (s * A) B by s * (A B) for float32 factors.
// Requires that s is a literal or known at load, that A is a transposed or reshaped copy, and that
// only matmuls read s * A.
// The matmul can then read A in its original layout, without a kernel that writes a scaled copy.
// The result differs in rounding, and is infinite if the unscaled sum leaves the range of float32.
ir::Program ScaleAfterMatmuls(const ir::Program& program);

}  // namespace tartan::graph
