// SPDX-License-Identifier: Apache-2.0
// Test programs for one step of a recurrent network: a matmul for all gates, then the next states.
#pragma once

#include <cstdint>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Cells with `rows` rows and `states` states. The outputs are the next states; the LSTM also has
// its cell state as an output.
TestProgram LstmCell(int64_t rows, int64_t states);
TestProgram GruCell(int64_t rows, int64_t states);

}  // namespace tartan
