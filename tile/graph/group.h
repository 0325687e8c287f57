// SPDX-License-Identifier: Apache-2.0
// Divides a program into kernels. Elementwise operations after a reduction join its kernel;
// elementwise and element-moving operations before any operation are computed where they are read,
// unless that would repeat much work.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

struct GroupOptions {
  // False: one kernel per operation, for finding out whether fusion is at fault.
  bool fuse = true;
  // A kernel repeats at most this many scalar operations of producers per element, and reads at
  // most this many tensors.
  int max_inlined_operations = 48;
  int max_inlined_reads = 20;
  int max_epilogue_operations = 64;
  // How often a kernel may compute an element of a producer.
  int max_repeats = 2;
  // Updates of states join the kernel of a reduction that adds up at most so many terms: they read
  // and write so much that its tiles would have to be small.
  int64_t max_update_terms = std::numeric_limits<int64_t>::max();
  // Reductions decode weights of a few bits each (small_weights.h) however many rows use them.
  bool decodes_for_many_rows = false;
  // Elementwise values that are held in memory in any case.
  std::vector<ir::ValueId> held = {};
  // Elementwise values that are computed where they are read, whatever that repeats.
  std::vector<ir::ValueId> inlined = {};
};

ir::Grouping GroupIntoKernels(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const GroupOptions& options = {});

}  // namespace tartan::graph
