// SPDX-License-Identifier: Apache-2.0
// Takes conditions out of inner loops: where a sum reads beyond an input's edge (a padded
// convolution), the input is first copied into a larger tensor with zeros around it.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

struct PaddedProgram {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // in it, of the original's values
};

// Applies to sums of one input or of products, when afterwards no condition is left but those of
// places in a small window, the larger tensor has at most twice the elements, and each is read at
// least twice (sixteen times, where conditions do not concern its last dimension: then they do not
// differ between the lanes of vectors). Beside a larger factor of whose elements each has few uses
// it may have four times the elements, and no condition is left. Not to sums over a small window
// alone, as in depthwise convolutions: their plans do without. A zero contributes nothing to such a
// sum, except beside an infinite or NaN factor at a point that was outside. `spaces` are those of
// `program`; the result needs an analysis of its own. Contractions of `kept` are left as they are.
PaddedProgram PadInputs(const ir::Program& program, const poly::ProgramSpaces& spaces,
                        const std::set<ir::ValueId>& kept = {});

}  // namespace tartan::graph
