// SPDX-License-Identifier: Apache-2.0
// Tile programs on 16-bit floats in which every operation that hands elements on meets operands
// from memory and operands from kernels.
#pragma once

#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Programs of one to three operations, each in float16 and bfloat16.
const std::vector<TestProgram>& HalfPrograms();

// A chain of 3 to 10 operations and its inputs, for a seed. All values are multiples of 1/4
// between -8 and 8, exact in every type of floats: results must be equal to the last bit.
struct HalfChain {
  TestProgram program;
  std::vector<HostTensor> inputs;
};
HalfChain RandomHalfChain(uint64_t seed);

}  // namespace tartan
