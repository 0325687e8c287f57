// SPDX-License-Identifier: Apache-2.0
// Generates whole random Tile programs: several inputs and outputs, constants, all element types,
// odd sizes, contractions and special operations.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tile/base/host_tensor.h"

namespace tartan {

// A random program. Its exact floats are multiples of a power of two that float32 represents in any
// order of summation. Inexact values depend on the rounding of functions such as exp.
struct RandomProgram {
  TestProgram program;
  std::vector<HostTensor> inputs;
  std::vector<bool> is_inexact;  // per output
  std::vector<int> floats;       // indices of the inputs that have gradients
};

// Generates a program deterministically from a seed.
RandomProgram MakeRandomProgram(uint64_t seed);

// Adds the gradients of all float inputs as further, inexact outputs. Returns the program unchanged
// if it has no gradients.
RandomProgram WithGradients(RandomProgram program);

// Compares outputs: integers, bools and exact floats to the last bit; inexact floats within 2e-4 of
// the maximum magnitude of their tensor. Returns "" if equal, else the first difference.
std::string DifferenceOf(const RandomProgram& program, const std::vector<HostTensor>& actual,
                         const std::vector<HostTensor>& expected);

}  // namespace tartan
