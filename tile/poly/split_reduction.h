// SPDX-License-Identifier: Apache-2.0
// A long reduction into few elements as two kernels, so that the first has work for the whole
// device.
#pragma once

#include <cstdint>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// True where partial results of the kernel can be aggregated as its values are.
bool CanSplitReduction(const FlatContraction& flat);

struct SplitKernel {
  // Aggregates runs of the reduced index: its only output, without a value, holds an accumulator
  // for each run and output index [runs][output indices].
  FlatContraction partial;
  // Aggregates those, and has the outputs. Its last tensor is the partial one, without a value.
  FlatContraction total;
};

// Divides reduced index `index` into runs of `length` values. Requires: CanSplitReduction.
SplitKernel SplitReduction(const FlatContraction& flat, int index, int64_t length);

}  // namespace tartan::poly
