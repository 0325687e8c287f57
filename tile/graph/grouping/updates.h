// SPDX-License-Identifier: Apache-2.0
// Finds the values that compute the next values of states.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns, per value, whether it belongs to a state update: it is elementwise and computed from a
// changing state with as many elements, or only such values use it.
std::vector<bool> FindUpdates(const ir::Program& program);

}  // namespace tartan::graph
