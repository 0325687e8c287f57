// SPDX-License-Identifier: Apache-2.0
// Chains over rows whose long rows can be walked in blocks, as attention's rows of keys can: a
// maximum over the row, exponentials of differences from it, and sums of these, alone or multiplied
// with values. With the greatest of the blocks so far instead of the greatest of all, each sum is
// off by one factor, by which it is multiplied once the greatest grows. No block of a row need be
// kept then. Nothing looks for names: the form is told by the kernels' expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/row_block.h"

namespace tartan::poly {

// What a kernel of such a chain is.
enum class OnlineRole {
  kBefore,    // done once, before the walk
  kElements,  // makes the elements of a block
  kMaximum,   // the greatest element so far
  kSum,       // a sum over the blocks so far; with columns: a product of matrices
  kAfter,     // done once, with what the walk gave
  kNone,      // not done: its result is another kernel's, but for a factor of the row
};

inline bool IsWalked(OnlineRole role) {
  return role == OnlineRole::kElements || role == OnlineRole::kMaximum || role == OnlineRole::kSum;
}

// The kernels as they run in a walk: what divides the exponentials of a row divides the sums.
struct OnlineRows {
  int64_t keys = 0;  // elements of a whole row
  std::vector<RowKernel> kernels;
  std::vector<OnlineRole> roles;  // per kernel
  std::vector<int> key_index;     // per kernel: which of its indices walks the row; -1: none
  std::vector<RowTensor> tensors;
  std::vector<int> key_dim;  // per tensor: the dimension that has the elements of a row; -1: none
};

// Nothing where the chain has another form. Sums are of float32, and one at least has columns.
std::optional<OnlineRows> FindOnlineRows(const std::vector<RowKernel>& kernels,
                                         const std::vector<RowTensor>& tensors);

// The same chain for blocks of a row.
struct KeyBlocks {
  // Those that have elements of a row have one row axis more: the number of the block.
  std::vector<RowKernel> kernels;
  std::vector<RowTensor> tensors;  // those of a block, rows with some room behind them
};

// For the whole blocks of `size` elements that a row has; or for what is left behind them, which is
// kept where a whole block would be.
KeyBlocks CutKeys(const OnlineRows& online, int64_t size, bool is_rest);

}  // namespace tartan::poly
