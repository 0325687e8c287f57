// SPDX-License-Identifier: Apache-2.0
// An operand copied ahead into the order in which a kernel reads it.
#pragma once

#include <cstdint>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// True where `access` is the only one of its tensor, read by the body alone, without a guard, and
// repeats no element: packed along `index` it is about as large as the tensor.
bool CanPack(const FlatContraction& flat, int access, int index);

struct PackedKernel {
  // `index` of the original is split in blocks; `access` reads `tensor`, which has no value now.
  // Reduced indices that are one in the packed order are merged.
  FlatContraction kernel;
  int tensor = 0;
  // Writes the packed tensor [other output indices] [blocks] [reduced indices] [block]; its only
  // output has no value, its only tensor is the original one. Beyond the range of `index`: zeros.
  FlatContraction copy;
};

// Requires: CanPack.
PackedKernel PackRead(const FlatContraction& flat, int access, int index, int64_t block);

}  // namespace tartan::poly
