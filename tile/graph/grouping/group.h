// SPDX-License-Identifier: Apache-2.0
// Fusion: divides a program into kernels. Elementwise operations after a reduction become its
// epilogue. Elementwise and element-moving producers are inlined into their readers, unless that
// repeats much work.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tile/graph/fusion_log.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

struct GroupOptions {
  // False: one kernel per operation, to find out whether fusion causes a problem.
  bool fuse = true;
  // Maximum scalar operations of inlined producers per element.
  int max_inlined_operations = 48;
  // Maximum tensor reads of an inlined value.
  int max_inlined_reads = 20;
  // Maximum elementwise operations in an epilogue.
  int max_epilogue_operations = 64;
  // Maximum number of times that a kernel may recompute an element of a producer.
  int max_repeats = 2;
  // Maximum K of a reduction whose kernel also updates states. Updates read and write many tensors,
  // which would force smaller register tiles.
  int64_t max_update_terms = std::numeric_limits<int64_t>::max();
  // Reductions decode low-precision weights inline (small_weights.h), for any number of rows.
  bool decodes_for_many_rows = false;
  // Grouping::rounded_in_memory.
  DataType rounded_in_memory = DataType::kInvalid;
  // Readers of such a value read the float32 value that it rounds. Matrix units of GPUs need a copy
  // in 16 bits.
  bool inlines_roundings = false;
  // Elementwise values that must be stored in memory.
  std::vector<ir::ValueId> held = {};
  // Elementwise values that must be inlined into their readers, whatever work that repeats.
  std::vector<ir::ValueId> inlined = {};
  // Receives the decisions; may be null.
  FusionLog* log = nullptr;
};

ir::Grouping GroupIntoKernels(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const GroupOptions& options = {});

}  // namespace tartan::graph
