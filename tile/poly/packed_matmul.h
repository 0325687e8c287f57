// SPDX-License-Identifier: Apache-2.0
// Low-precision matmuls with packed words, several multiplications per instruction.
//
// - 16-bit or 8-bit integers: dot instructions multiply the parts of two words and add the results
//   in 32 bits, exactly (ScalarOp::kDot16, kDot8).
// - bfloat16: two floats per word, added in float32 (kDotBFloat16).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Contents of a word: two 16-bit integers, four 8-bit integers (kUnsignedBytes: one factor
// unsigned), or two bfloat16 floats.
enum class PackedForm : uint8_t { kPairs, kBytes, kUnsignedBytes, kBFloat16 };

struct PackedMatmul {
  // A kernel whose only output, which has no value, is tensor number `tensor` of `products`.
  struct Operand {
    FlatContraction kernel;
    int tensor = 0;
  };
  // The first two kernels pack the factors into int32 words of `count` values. The word at position
  // q of the packed index has the values at q, q + words, q + 2 * words and so on, low bits first.
  // A packed factor may be the original minus a difference (8-bit values with a zero point or of
  // the other signedness). Then further kernels sum the packed values of the other factor.
  std::vector<Operand> operands;
  // The original kernel over words instead of values of the packed index.
  FlatContraction products;
};

// Returns nothing unless all of these hold:
//
// - For kPairs, kBytes and kUnsignedBytes, the kernel is an int32 sum of two multiplied factors
//   whose values fit the parts of a word. Bytes may need a subtracted difference, which must be
//   equal for all terms of a sum.
// - For kBFloat16, the kernel is a float32 sum of two multiplied float32 factors.
// - Each factor has one coordinate that is a common reduced index alone, without constraints on it.
// - All other reads of a factor, such as zero points and padding conditions, depend only on the
//   coordinates of its largest tensor.
std::optional<PackedMatmul> PackMatmul(const FlatContraction& flat, PackedForm form);

}  // namespace tartan::poly
