// SPDX-License-Identifier: Apache-2.0
// Finds values that one elementwise kernel can compute together. Examples: a parameter and its
// optimizer averages; the cell and hidden state of a recurrent step.
//
// A state is an input that an output overwrites after each run (`ir::Input::next`). That output is
// the state's next value.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// `is_free`: per value, whether a separate kernel can compute it element by element. `joined`: per
// value, the value whose kernel also computes it, or kNoValue.

// Joins next values of states that nothing reads, have the same shape, and share elementwise values
// of an update (updates.h).
void FuseUpdates(const ir::Program& program, const std::vector<bool>& is_free,
                 const std::vector<bool>& in_memory, std::vector<ir::ValueId>* joined);

// Joins a state's next value to the next value of another state, if only that one reads it, element
// by element, and the shapes are equal. `sinks`: per value, the kernels that need it.
void FuseReadStates(const ir::Program& program, const std::vector<bool>& is_free,
                    const std::vector<bool>& in_memory,
                    const std::vector<std::set<ir::ValueId>>& sinks,
                    std::vector<ir::ValueId>* joined);

// Returns, per value, the last root that its kernel depends on, including joined values.
std::vector<ir::ValueId> LatestRoots(std::vector<ir::ValueId> latest_root,
                                     const std::vector<ir::ValueId>& joined);

// Execution order of kernels: sorted by latest root, each root before its elementwise followers.
struct KernelOrder {
  std::vector<ir::ValueId> latest_root;
  std::vector<bool> is_free;
  bool IsBefore(ir::ValueId a, ir::ValueId b) const;
};

// Joins a value to the elementwise value of the same shape that reads it first, whose kernel has
// each element available. `may_join`: values that need no separate kernel. Values that reductions
// read are not joined, because row chains fuse those better.
void FuseReadValues(const ir::Program& program, const KernelOrder& order,
                    const std::vector<bool>& in_memory, const std::vector<bool>& may_join,
                    const std::vector<std::set<ir::ValueId>>& sinks,
                    std::vector<ir::ValueId>* joined);

}  // namespace tartan::graph
