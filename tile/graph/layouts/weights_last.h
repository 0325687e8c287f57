// SPDX-License-Identifier: Apache-2.0
// Layout pass for convolution weights on GPUs.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

struct MovedWeights {
  ir::Program program;
  std::vector<ir::ValueId> copies;  // must be stored in memory
};

// Copies constant convolution weights at load into the order window, input channels, output
// channels. Models have the window last, so that adjacent lanes, which compute adjacent output
// channels, would read with a large stride.
MovedWeights MoveOutputChannelsLast(const ir::Program& program);

}  // namespace tartan::graph
