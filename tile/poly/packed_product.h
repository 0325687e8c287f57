// SPDX-License-Identifier: Apache-2.0
// Sums of products of narrow numbers, several products at a time: processors multiply integers of
// 16 or 8 bits that lie in one word and add their products in one instruction (ScalarOp::kDot16,
// kDot8), in 32 bits and so exactly. Two floats rounded to bfloat16 lie in a word, too
// (kDotBFloat16): their products are added up in float32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// What lies in a word: two integers of 16 bits, or four of 8 bits, signed or those of one factor
// without sign, or two floats.
enum class PackedForm : uint8_t { kPairs, kBytes, kUnsignedBytes, kBFloat16 };

struct PackedProduct {
  // A kernel whose only output, without a value, is a tensor of `products`.
  struct Operand {
    FlatContraction kernel;
    int tensor = 0;
  };
  // The first two write a factor's values into words of int32, `count` of them in each: at position
  // q of the packed index, from the low bits on, those at q, q + words, q + 2 * words … Where what
  // is packed is the factor less a difference (8-bit numbers with a zero point, or of the other
  // sign), others follow that add up what was packed of the other factor.
  std::vector<Operand> operands;
  // The original over words instead of values of that index.
  FlatContraction products;
};

// Requires sums in int32 of products of two factors whose values fit 16 bits, or 8
// after a difference is taken out that is the same for all that is added up (kBFloat16: sums in
// float32 of products of two float32), and a reduced index
// that each factor has in one coordinate of its own and no condition has. What a factor reads
// beside its largest tensor (zero points, conditions of padding) must follow the coordinates of
// that. Empty for all other kernels.
std::optional<PackedProduct> PackProducts(const FlatContraction& flat, PackedForm form);

}  // namespace tartan::poly
