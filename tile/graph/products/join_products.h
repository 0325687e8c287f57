// SPDX-License-Identifier: Apache-2.0
// Products of one tensor with several matrices known at load, as one: queries, keys and values of
// attention.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where products that differ in the matrix alone are one product with the matrices
// side by side, which is made at load; what follows each with constants of its own columns, such as
// a bias, is joined as well, and readers read their columns of the result. Products stay apart
// whose kernel would compute other elementwise operations behind the sum, and whose matrices are
// computed or read elsewhere.
ir::Program JoinProducts(const ir::Program& program);

}  // namespace tartan::graph
