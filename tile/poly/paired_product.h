// Sums of products of narrow integers, two products at a time: processors multiply pairs of 16-bit
// numbers and add both products in one instruction (ScalarOp::kDot16), in 32 bits and so exactly.
#pragma once

#include <optional>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Each of the first two kernels computes a tensor of int32, a factor's values in pairs: those at
// position q of the paired index in the low half, those at q + (range + 1) / 2 in the high one.
struct PairedProduct {
  FlatContraction left;
  FlatContraction right;
  // The original over half as many values of that index. Its last two tensors are those of left and
  // right, without a value.
  FlatContraction products;
};

// Requires sums in int32 of products of two factors whose values fit 16 bits, and a reduced index
// that each of them has in one coordinate of its own and no condition has. What a factor reads
// beside its largest tensor (zero points, conditions of padding) must follow the coordinates of
// that. Empty for all other kernels.
std::optional<PairedProduct> PairProducts(const FlatContraction& flat);

}  // namespace tartan::poly
