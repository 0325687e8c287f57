// SPDX-License-Identifier: Apache-2.0
// Copies inputs of padded convolutions into larger tensors with a border of zeros, to remove
// conditions from inner loops.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

struct PaddedProgram {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // new number of each original value
};

// Pads inputs of sums and of matmuls with zeros where this pays. Requirements:
//
// - Afterwards no conditions remain, except on positions within a small window.
// - The padded tensor has up to twice the elements, and each is read two times or more on average.
// - If the last dimension needs no padding, each element is read 16 times or more. Conditions are
//   then equal for all lanes of a vector, and cost less.
// - The tensor may have four times the elements if the other factor is larger and each of its
//   elements has few uses. No condition may remain then.
// - The sum covers more than a small window. Plans for small windows, such as depthwise
//   convolutions, avoid the conditions.
//
// A zero adds nothing to such a sum, unless the other factor is infinite or NaN at a point that was
// outside. `spaces`: index spaces of `program`; the result must be analyzed again. Contractions in
// `kept` are not changed.
PaddedProgram PadInputs(const ir::Program& program, const poly::ProgramSpaces& spaces,
                        const std::set<ir::ValueId>& kept = {});

}  // namespace tartan::graph
