// SPDX-License-Identifier: Apache-2.0
// Operand packing: copies an operand into the order in which the kernel reads it.
#pragma once

#include <cstdint>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns true if `access` is the only access to its tensor, is in the body only, has no guard and
// repeats no element. Packed along `index`, the operand is then about as large as the tensor.
bool CanPack(const FlatContraction& flat, int access, int index);

struct PackedKernel {
  // The kernel with `index` split in blocks. `access` reads `tensor`, which now has no value.
  // Reduced indices that are contiguous in the packed order are merged.
  FlatContraction kernel;
  int tensor = 0;
  // The kernel that writes the packed tensor [other output indices] [blocks] [reduced indices]
  // [block]. Its output has no value, and its only tensor is the original one. Elements beyond the
  // range of `index` are zeros.
  FlatContraction copy;
};

// Requires CanPack.
PackedKernel PackRead(const FlatContraction& flat, int access, int index, int64_t block);

}  // namespace tartan::poly
