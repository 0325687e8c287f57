// SPDX-License-Identifier: Apache-2.0
// Pads the rows of intermediate tensors to whole vectors, for matrix units.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// Pads values that matmuls read or write along their rows, if the row length is no multiple of a
// vector (for example 197 tokens).
// The padding elements have undefined contents and nothing reads them. Updates the kernels in
// `flats` that write and read these values, and returns the padded shapes.
// `flats`: the kernel of each group. Groups without a kernel and groups marked in `kept` are not
// changed, nor are the values that they touch.
std::map<ir::ValueId, TensorShape> PadRows(
    const ir::Program& program, const ir::Grouping& grouping, const std::vector<bool>& kept,
    std::vector<std::optional<poly::FlatContraction>>* flats);

}  // namespace tartan::compiler
