// SPDX-License-Identifier: Apache-2.0
// Values that are read as factors of products alone, in the type that a matrix unit multiplies.
#pragma once

#include <vector>

#include "tile/base/data_type.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where values that run time makes, and that only products of rows by columns
// read, are stored in 16 bits: `type`, to which the matrix unit would round each factor anyway.
// Readers may be behind moves: reshapes, transposes, slices. `held`, which may be null, are values
// of the program, and become those of the new one.
ir::Program NarrowFactors(const ir::Program& program, DataType type,
                          std::vector<ir::ValueId>* held = nullptr);

}  // namespace tartan::graph
