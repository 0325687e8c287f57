// SPDX-License-Identifier: Apache-2.0
// Kernels over the same rows that can run in one launch, one after the other for each block of
// rows: softmax, normalisations, their gradients, and whatever else is a chain of reductions along
// rows and elementwise operations on what they give.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/graph/group.h"
#include "tile/graph/row_layout.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/row_block.h"

namespace tartan::graph {

struct RowChain;

struct ChainOptions {
  int64_t cores = 1;              // a chain has rows for all of them, or little work
  int64_t row_bytes = 1 << 20;    // that a row's tensors may take
  int64_t local_bytes = 1 << 17;  // that may be kept for a block of rows, for one row
  int64_t row_points = 0;         // a row of so few index points is little work for one core
  bool planes = false;            // rows may be planes over which windows slide
  bool single_results = false;    // a reduction gives one element for a row
  // Whether a chain with products of matrices, as attention is, is better than the one without them
  // (null: none) and kernels of their own for the rest. None: no chain has such products.
  std::function<bool(const RowChain& chain, const RowChain* without)> takes_products = nullptr;
};

// Row axes are output indices of the first reduction: all of them, or those in front of where its
// window slides. Every kernel of a chain has each of them as
// an output index of its own, and reads what others of the chain write at its own row alone.
struct RowChain {
  std::vector<int> groups;    // positions in Grouping::groups, in order
  std::vector<int64_t> rows;  // range of each row axis
  // Per group; their tensors' values are those that hold the elements.
  std::vector<poly::RowKernel> kernels;
  std::vector<poly::RowTensor> tensors;  // that only the chain reads, and that are not in memory
  int64_t row_bytes = 0;                 // of all tensors, for one row
  Layout layout = Layout::kNone;
  bool has_products = false;  // of matrices
  // With products: what it touches or keeps of a row is more than the options allow, so that rows
  // are not to be held whole.
  bool has_long_rows = false;
};

// The kernels of each group; null for those that no chain may have: special operations, kernels
// that do not write all of their output, and what depends on constants alone.
using GroupKernels = std::vector<const poly::FlatContraction*>;

// Chains have two kernels at least and no kernel in common. What a chain reads, and does not
// compute, never depends on it.
std::vector<RowChain> FindRowChains(const ir::Program& program, const ir::Grouping& grouping,
                                    const GroupKernels& kernels, const ChainOptions& options);

}  // namespace tartan::graph
