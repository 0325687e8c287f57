// SPDX-License-Identifier: Apache-2.0
// Which indices of a chain's kernels walk along a row, and in which dimensions what they hand on to
// each other has the row's elements.
#pragma once

#include <optional>
#include <vector>

#include "tile/poly/row_block.h"

namespace tartan::poly {

struct KeyIndices {
  std::vector<int> of_kernels;  // -1: none
  std::vector<int> of_tensors;  // dimensions; -1: none
};

// Beginning with the index that a kernel reduces. Nothing where some kernel sees the row's elements
// in another way than one by one.
std::optional<KeyIndices> FindKeyIndices(const std::vector<RowKernel>& kernels,
                                         const std::vector<RowTensor>& tensors, int first,
                                         int index);

}  // namespace tartan::poly
