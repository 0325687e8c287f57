// SPDX-License-Identifier: Apache-2.0
// Stores values that only matmuls read in the low-precision type of the matrix unit.
#pragma once

#include <vector>

#include "tile/base/data_type.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// Stores run-time values that only matmuls read in the 16-bit type `type`, to which the matrix unit
// would round them anyway. Reshapes, transposes and slices may be between a value and its readers.
// `held` (may be null): values of the program, renumbered for the result.
ir::Program NarrowMatmulOperands(const ir::Program& program, DataType type,
                                 std::vector<ir::ValueId>* held = nullptr);

}  // namespace tartan::graph
