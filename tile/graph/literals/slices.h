// SPDX-License-Identifier: Apache-2.0
// What is gathered from one place known beforehand, as a slice.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where a gather at a literal position is a contraction that reads there: kernels
// read it where it lies, while positions that are data make them hold it in memory first.
ir::Program SliceAtLiterals(const ir::Program& program);

}  // namespace tartan::graph
