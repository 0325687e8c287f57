// SPDX-License-Identifier: Apache-2.0
// Finds row chains: kernels over the same rows that can run in one launch, block of rows by block
// of rows. Examples are softmax, normalisations and their gradients: reductions along rows, and
// elementwise operations on their results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/graph/fusion_log.h"
#include "tile/graph/grouping/group.h"
#include "tile/graph/rows/row_layout.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/row_block.h"

namespace tartan::graph {

struct RowChain;

struct ChainOptions {
  int64_t cores = 1;              // minimum number of rows, unless the work is small
  int64_t row_bytes = 1 << 20;    // maximum bytes of all tensors of one row
  int64_t local_bytes = 1 << 17;  // maximum bytes of intermediates of one row in local memory
  int64_t row_points = 0;         // up to this many index points per row count as small work
  bool planes = false;            // rows may be planes that a pooling window slides over
  bool single_results = false;    // reductions must have a single result per row
  // Decides if a chain with matmuls, such as attention, is better than the chain `without` (may be
  // null) plus separate kernels for the rest. If empty, no chain contains matmuls.
  std::function<bool(const RowChain& chain, const RowChain* without)> accepts_matmuls = nullptr;
  FusionLog* log = nullptr;  // receives refusals; may be null
};

// A group of kernels over common rows.
// Row axes are output indices of the first reduction: all of them, or those before its sliding
// window. Every kernel of a chain has an output index for each row axis. It reads results of the
// chain only in its own row.
struct RowChain {
  std::vector<int> groups;    // positions in Grouping::groups, in order
  std::vector<int64_t> rows;  // range of each row axis
  // One kernel per group; each tensor's value is the owner of its memory.
  std::vector<poly::RowKernel> kernels;
  std::vector<poly::RowTensor> tensors;  // intermediates that only the chain reads; not in memory
  int64_t row_bytes = 0;                 // of all tensors, for one row
  Layout layout = Layout::kNone;
  bool has_matmuls = false;  // has matmuls
  // A row's tensors exceed the limits of the options, so that a kernel must process rows in blocks
  // of keys. Only for chains with matmuls.
  bool has_long_rows = false;
};

// The kernel of each group. Null for groups that no chain may contain: special operations, kernels
// that write only a part of their output, and load-time values.
using GroupKernels = std::vector<const poly::FlatContraction*>;

// Finds disjoint chains of two or more kernels. A value that a chain reads but does not compute
// never depends on the chain.
std::vector<RowChain> FindRowChains(const ir::Program& program, const ir::Grouping& grouping,
                                    const GroupKernels& kernels, const ChainOptions& options);

}  // namespace tartan::graph
