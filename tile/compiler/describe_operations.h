// SPDX-License-Identifier: Apache-2.0
// Readable descriptions of a kernel's operations (CompileHooks::describes_launches).
#pragma once

#include <string>

#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// Returns text such as "sum of mul; add, tanh": the aggregation with the operations of its body,
// then the operations on its results, each once. Returns "copy" for a kernel without operations.
std::string DescribeOperations(const poly::FlatContraction& flat);

}  // namespace tartan::compiler
