// SPDX-License-Identifier: Apache-2.0
// Dynamic int8 quantization of float matmuls with constant weights. The model needs no preparation.
#pragma once

#include <set>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Returns true for a float32 matmul (IsMatmul) with exactly one constant factor.
// K must be 16 or more, as the search for a row's maximum takes longer otherwise, and small enough
// that the sum cannot overflow int32.
bool IsQuantizable(const ir::Program& program, const poly::ProgramSpaces& spaces,
                   const std::vector<bool>& is_constant, ir::ValueId value);

struct QuantizedProgram {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // new number of each original value
  // Absolute values, which must be inlined.
  std::vector<ir::ValueId> inlined;
};

// Quantizes both factors of each matmul in `products`. Requires IsQuantizable for all of them.
//
// Factors become integers from -127 to 127, with one scale per row of the activations and per
// column of the weights: the maximum magnitude divided by 127. A row or column comprises the
// elements of a factor whose output-index coordinates are equal. For a sliding window, that is a
// whole image. Integers are rounded to nearest, ties to even. The sums are multiplied by both
// scales.
//
// X and W are the maximum magnitudes of a result's row and column, and K the number of terms x w.
// The result then differs from the exact sum by at most
//   X sum|w| / 254 + W sum|x| / 254 + K X W / 254^2
// plus some float32 roundings. Rows and columns of zeros give exact zeros. Values below 2^-107 in a
// row or column whose maximum is below 2^-100 may be lost. An infinity or NaN makes all results of
// its row or column NaN.
QuantizedProgram QuantizeMatmuls(const ir::Program& program, const poly::ProgramSpaces& spaces,
                                 const std::vector<bool>& is_constant,
                                 const std::set<ir::ValueId>& products);

}  // namespace tartan::graph
