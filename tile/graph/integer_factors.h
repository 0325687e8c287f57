// SPDX-License-Identifier: Apache-2.0
// The operands of integer products, back to what they are computed from.
#pragma once

#include <map>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// For each contraction that adds up products of int32: the int32 values that its operands are
// computed from element by element, the operands included. Conversions from narrower integers are
// among them, what they convert is not. Products whose operands take many such values are left out.
std::map<ir::ValueId, std::vector<ir::ValueId>> FindIntegerFactors(
    const ir::Program& program, const poly::ProgramSpaces& spaces);

}  // namespace tartan::graph
