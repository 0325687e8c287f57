// SPDX-License-Identifier: Apache-2.0
// Products of floats by weights that are known at load, with factors of 8 bits: dynamic
// quantization, for which a model needs no preparation.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// A sum in float32 of products of rows by columns (IsProduct), of whose factors one is constant and
// the other is not. It adds up at least 16 products, with fewer of which the search for a row's
// greatest magnitude takes longer than is saved, and not so many that it might leave int32.
bool IsQuantizable(const ir::Program& program, const poly::ProgramSpaces& spaces,
                   const std::vector<bool>& is_constant, ir::ValueId value);

struct QuantizedProgram {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // in it, of the original's values
  // Magnitudes, of which none should be in memory.
  std::vector<ir::ValueId> inlined;
};

// Requires: IsQuantizable, of all of `products`.
//
// The same program with factors of `products` as integers from -127 to 127, times a scale for each
// row of the activations and for each column of the weights: the greatest magnitude there, divided
// by 127. A row or column is what results with the same coordinates there are sums of: for a
// factor's dimension that is read by output indices alone, each of its places; a whole image where
// windows slide over it. Integers are rounded to nearest, ties to even. The sums are multiplied by
// both scales.
//
// With the greatest magnitudes X and W of a result's row and column, which add up K products x w,
// the result differs from that of exact sums by at most
//   X sum|w| / 254 + W sum|x| / 254 + K X W / 254^2
// and some roundings of float32. Rows and columns of zeros alone give exact zeros; what is less
// than 2^-107 in a row or column below 2^-100 may be lost. Infinities and NaN make all results of
// their row or column NaN.
QuantizedProgram QuantizeProducts(const ir::Program& program, const poly::ProgramSpaces& spaces,
                                  const std::vector<bool>& is_constant,
                                  const std::set<ir::ValueId>& products);

}  // namespace tartan::graph
