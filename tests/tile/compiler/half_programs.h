// SPDX-License-Identifier: Apache-2.0
// Test programs on 16-bit floats. Every operation that copies elements gets operands from memory
// and from other kernels.
#pragma once

#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Programs of one to three operations, each in float16 and in bfloat16.
const std::vector<TestProgram>& HalfPrograms();

// A random chain of 3 to 10 operations with its inputs. All values are multiples of 1/4 between -8
// and 8, exact in every float type, so results must be equal to the last bit.
struct HalfChain {
  TestProgram program;
  std::vector<HostTensor> inputs;
};
HalfChain RandomHalfChain(uint64_t seed);

}  // namespace tartan
