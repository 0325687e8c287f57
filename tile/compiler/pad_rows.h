// SPDX-License-Identifier: Apache-2.0
// Memory between kernels whose rows begin at whole vectors, for matrix units.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// Values of a run that products read or write along their rows, where rows of their length would
// begin anywhere (197 tokens): the kernels that write and read them get rows with a few elements
// more, of which nothing is known and that nobody reads. Returns the shapes that those values have
// in memory. `flats`: of each group; those without, and those in `kept`, stay as they are with all
// that they touch.
std::map<ir::ValueId, TensorShape> PadRows(
    const ir::Program& program, const ir::Grouping& grouping, const std::vector<bool>& kept,
    std::vector<std::optional<poly::FlatContraction>>* flats);

}  // namespace tartan::compiler
