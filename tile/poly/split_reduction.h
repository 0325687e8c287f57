// SPDX-License-Identifier: Apache-2.0
// Split-K: divides a long reduction with few results into two kernels, so that the first one has
// enough parallel work for the device.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns true if partial results can be aggregated like the kernel's values.
bool CanSplitReduction(const FlatContraction& flat);

struct SplitKernel {
  // Aggregates each K chunk. Its only output, without a value, is an accumulator per chunk and
  // output index: [chunks][output indices].
  FlatContraction partial;
  // Aggregates the partial results and computes the outputs. Its last tensor is the partial result,
  // without a value.
  FlatContraction total;
};

// Divides reduced index `index` into chunks of `length` values. Partial results are stored by
// chunk, then by the output indices, the last of `order` varying fastest (empty: the kernel's
// order). Requires CanSplitReduction.
SplitKernel SplitReduction(const FlatContraction& flat, int index, int64_t length,
                           const std::vector<int>& order = {});

}  // namespace tartan::poly
