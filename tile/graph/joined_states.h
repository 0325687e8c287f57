// SPDX-License-Identifier: Apache-2.0
// Next values of states that one kernel makes: a parameter and its optimiser's averages.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// `is_free`: per value, computable element by element in a kernel of its own. `joined`: per value,
// the value whose kernel makes this one, too; kNoValue for none.

// Next values that nothing reads, have the same sizes, and are made of the same elementwise values
// of an update (updates.h).
void JoinUpdates(const ir::Program& program, const std::vector<bool>& is_free,
                 const std::vector<bool>& in_memory, std::vector<ir::ValueId>* joined);

// Next values that only the next value of another state of their sizes reads. `sinks`: the kernels
// that need a value, each by what it computes.
void JoinReadStates(const ir::Program& program, const std::vector<bool>& is_free,
                    const std::vector<bool>& in_memory,
                    const std::vector<std::set<ir::ValueId>>& sinks,
                    std::vector<ir::ValueId>* joined);

}  // namespace tartan::graph
