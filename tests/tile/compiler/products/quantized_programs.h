// SPDX-License-Identifier: Apache-2.0
// Test programs of matmuls with constant weights that may use int8 factors, with error bounds.
#pragma once

#include <string>
#include <vector>

#include "tests/tile/compiler/matrix_programs.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan {

struct QuantizedCase {
  MatrixProgram product;
  // Tile function of the same inputs that computes the maximum error of each result, due to the
  // rounding of factors to int8. The function names the rows and columns that share a scale.
  std::string bound;
};

inline std::ostream& operator<<(std::ostream& out, const QuantizedCase& test) {
  return out << test.product.name;
}

// Matmuls large enough to benefit, with odd sizes that words and vectors do not divide.
const std::vector<QuantizedCase>& QuantizedCases();

// Draws positive and negative inputs whose rows and columns differ by orders of magnitude.
std::vector<HostTensor> UnevenNumbers(const MatrixProgram& program);

// Fails the test unless `actual` is within the case's bound of the float64 results. Also fails if
// the error is so small that nothing can have been rounded.
void ExpectQuantizationErrors(const QuantizedCase& test, const std::vector<HostTensor>& inputs,
                              const HostTensor& actual);

// Settings of a CPU that multiplies `products` integers per instruction lane: 4 of 8 bits or 2 of
// 16.
HardwareSettings IntegerSettings(int64_t products);
compiler::CompileOptions OptionsForIntegers(const HardwareSettings& settings);

// Counts the kernels that use an integer dot operation.
int CountIntegerDots(const compiler::KernelList& list);

}  // namespace tartan
