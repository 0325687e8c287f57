// SPDX-License-Identifier: Apache-2.0
// What a kernel does and how, in words for people (CompileHooks::tells_launches).
#pragma once

#include <string>

#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// "sum of mul; add, tanh": the aggregation with the operations of its body, then those on its
// results, each once; "copy" where there are none.
std::string TellOperations(const poly::FlatContraction& flat);

}  // namespace tartan::compiler
