// SPDX-License-Identifier: Apache-2.0
// Factors of products that are multiplied by a number, as queries and keys of attention are.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where a number that all elements of a product's float32 factor are multiplied
// with, a literal or known at load, multiplies the sum instead. Only of factors that were moved, as
// queries and keys are, so that they can be read where they lie and need no kernel that writes them
// anew; and where nothing else reads the scaled factor. The result is another rounding of the same
// sum, or infinite where the sum leaves float32's range before it is scaled.
ir::Program ScaleAfterProducts(const ir::Program& program);

}  // namespace tartan::graph
