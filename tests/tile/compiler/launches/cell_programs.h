// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent networks: a product for all gates, of which the next states are made.
#pragma once

#include <cstdint>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Of so many rows and states. Outputs: the state, for an LSTM the cell's state as well.
TestProgram LstmCell(int64_t rows, int64_t states);
TestProgram GruCell(int64_t rows, int64_t states);

}  // namespace tartan
