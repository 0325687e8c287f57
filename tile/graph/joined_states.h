// SPDX-License-Identifier: Apache-2.0
// Values that one kernel makes: a parameter and its optimiser's averages, the cell and the hidden
// state of a recurrent step.
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

// Next values that only the next value of another state of their sizes reads, element by element.
// `sinks`: the kernels that need a value, each by what it computes.
void JoinReadStates(const ir::Program& program, const std::vector<bool>& is_free,
                    const std::vector<bool>& in_memory,
                    const std::vector<std::set<ir::ValueId>>& sinks,
                    std::vector<ir::ValueId>* joined);

// Of each value the last root that its kernel depends on, with what is joined.
std::vector<ir::ValueId> LatestRoots(std::vector<ir::ValueId> latest_root,
                                     const std::vector<ir::ValueId>& joined);

// Where the kernel of a value is among others: the latest root comes first, a root before what
// follows it.
struct KernelOrder {
  std::vector<ir::ValueId> latest_root;
  std::vector<bool> is_free;
  bool IsBefore(ir::ValueId a, ir::ValueId b) const;
};

// Values that one elementwise value of their sizes reads before all others do: its kernel has each
// element of them at hand. `sinks` as above; where a reduction is among them, chains over rows do
// better. `may_join`: values that need no kernel of their own.
void JoinReadValues(const ir::Program& program, const KernelOrder& order,
                    const std::vector<bool>& in_memory, const std::vector<bool>& may_join,
                    const std::vector<std::set<ir::ValueId>>& sinks,
                    std::vector<ir::ValueId>* joined);

}  // namespace tartan::graph
