// SPDX-License-Identifier: Apache-2.0
// Finds low-precision weights (integers with scales, or 16-bit floats) to decode inside the
// reductions that use them.
#pragma once

#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Results of FindSmallWeights, per value.
// A reduction with few rows is limited by reading its weights, so decoding in the reader avoids
// writing the decoded weights to memory. Sub-byte weights would grow many times, so CPUs decode
// them for any number of rows: a register tile decodes one vector for all its rows.
struct SmallWeights {
  std::vector<bool> decoded;  // computed in the kernels of the reductions
  std::vector<bool> copied;   // reordered constants, stored in low precision, computed at load
};

// `kinds` and `is_constant` are per value. `for_many_rows`: sub-byte weights are decoded for any
// number of rows.
SmallWeights FindSmallWeights(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const std::vector<Kind>& kinds, const std::vector<bool>& is_constant,
                              bool for_many_rows);

}  // namespace tartan::graph
