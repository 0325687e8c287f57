// SPDX-License-Identifier: Apache-2.0
// Traces operands of integer matmuls back to the values that they are computed from.
#pragma once

#include <map>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Returns, for each int32 matmul, the int32 values that its operands are computed from elementwise,
// including the operands. Conversions from narrower integers are included, their sources are not.
// Matmuls with too many such values are left out.
std::map<ir::ValueId, std::vector<ir::ValueId>> FindIntegerFactors(
    const ir::Program& program, const poly::ProgramSpaces& spaces);

}  // namespace tartan::graph
