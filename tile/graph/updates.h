// SPDX-License-Identifier: Apache-2.0
// What of a program gives its states their next values.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Per value: it is elementwise, and made of a state of as many elements which is to change, or
// serves such values alone.
std::vector<bool> FindUpdates(const ir::Program& program);

}  // namespace tartan::graph
