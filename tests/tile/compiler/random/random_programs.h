// SPDX-License-Identifier: Apache-2.0
// Whole Tile programs at random: several inputs and outputs, constants, bools, integers and floats
// of all widths, sizes that no vector divides, contractions and special operations.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tile/base/host_tensor.h"

namespace tartan {

// Floats are multiples of a power of two that float32 holds whatever the order of sums. Values that
// no exact operation made are `inexact`: they depend on the rounding of functions such as exp.
struct RandomProgram {
  TestProgram program;
  std::vector<HostTensor> inputs;
  std::vector<bool> is_inexact;  // by output
  std::vector<int> floats;       // the inputs that have gradients
};

// Deterministic for a seed.
RandomProgram MakeRandomProgram(uint64_t seed);

// The program with the gradients of all float inputs as further outputs, which are inexact. The
// same program where it has no gradients.
RandomProgram WithGradients(RandomProgram program);

// "" where equal: integers, bools and exact floats to the last bit, inexact floats within 2e-4 of
// the largest magnitude in their tensor; otherwise the first difference.
std::string DifferenceOf(const RandomProgram& program, const std::vector<HostTensor>& actual,
                         const std::vector<HostTensor>& expected);

}  // namespace tartan
