// SPDX-License-Identifier: Apache-2.0
// Which values of a program are known before it runs.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Of each value: nothing it depends on is given at run time.
std::vector<bool> FindConstants(const ir::Program& program);

}  // namespace tartan::graph
