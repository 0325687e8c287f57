// SPDX-License-Identifier: Apache-2.0
// Finds the values of a program that are known at load.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns, per value, whether it depends only on constants.
std::vector<bool> FindConstants(const ir::Program& program);

}  // namespace tartan::graph
