// SPDX-License-Identifier: Apache-2.0
// Online softmax (flash attention): recognizes row chains whose long rows can be processed in
// blocks.
//
// The pattern is a maximum over the row, exponentials of differences from it, and sums of these,
// possibly multiplied by values. With the maximum of the blocks so far instead of the final one,
// each sum is off by one factor. It is rescaled when the maximum grows, so no row is stored whole.
// The pattern is found in the kernels' expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/row_block.h"

namespace tartan::poly {

// Role of a kernel in such a chain.
enum class OnlineRole {
  kBefore,    // runs once, before the loop over blocks
  kElements,  // computes the elements of a block
  kMaximum,   // running maximum
  kSum,       // running sum; with columns: a matmul
  kAfter,     // runs once, after the loop over blocks
  kNone,      // skipped: it copies another kernel's result, up to a row factor
};

inline bool IsInKeyLoop(OnlineRole role) {
  return role == OnlineRole::kElements || role == OnlineRole::kMaximum || role == OnlineRole::kSum;
}

// The chain for online processing; divisors of a row's exponentials are applied to the sums.
struct OnlineSoftmax {
  int64_t keys = 0;  // number of elements in a whole row
  std::vector<RowKernel> kernels;
  std::vector<OnlineRole> roles;  // per kernel
  std::vector<int> key_index;     // per kernel: its index along the keys; -1: none
  std::vector<RowTensor> tensors;
  std::vector<int> key_dim;  // per tensor: its dimension along the keys; -1: none
};

// Returns nothing if the chain does not match. Sums must be in float32, and one or more must have
// columns.
std::optional<OnlineSoftmax> FindOnlineSoftmax(const std::vector<RowKernel>& kernels,
                                               const std::vector<RowTensor>& tensors);

// The chain cut into blocks of keys.
struct KeyBlocks {
  // Kernels with key elements have one more row axis: the block number.
  std::vector<RowKernel> kernels;
  std::vector<RowTensor> tensors;  // tensors of one block; rows have padding at the end
};

// Cuts the chain for the whole blocks of `size` keys, or, with `is_rest`, for the remaining keys,
// stored in the layout of a whole block.
KeyBlocks CutKeys(const OnlineSoftmax& online, int64_t size, bool is_rest);

}  // namespace tartan::poly
