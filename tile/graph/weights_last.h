// SPDX-License-Identifier: Apache-2.0
// Which way round the weights of convolutions lie in memory, on devices whose work-items are lanes.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

struct MovedWeights {
  ir::Program program;
  std::vector<ir::ValueId> copies;  // to be held in memory
};

// The same program with constant weights of convolutions copied, once, into the order: window,
// input channels, output channels. Models have the window last, so that neighbouring lanes, which
// compute neighbouring output channels, would read far apart.
MovedWeights MoveOutputChannelsLast(const ir::Program& program);

}  // namespace tartan::graph
