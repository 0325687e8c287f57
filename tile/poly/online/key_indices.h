// SPDX-License-Identifier: Apache-2.0
// Online softmax: finds the kernel indices and tensor dimensions that run along the keys of a row.
#pragma once

#include <optional>
#include <vector>

#include "tile/poly/row_block.h"

namespace tartan::poly {

struct KeyIndices {
  std::vector<int> of_kernels;  // per kernel: index; -1: none
  std::vector<int> of_tensors;  // per tensor: dimension; -1: none
};

// Propagates from index `index`, which kernel `first` reduces. Returns nothing if some kernel does
// not access the row's elements one by one.
std::optional<KeyIndices> FindKeyIndices(const std::vector<RowKernel>& kernels,
                                         const std::vector<RowTensor>& tensors, int first,
                                         int index);

}  // namespace tartan::poly
