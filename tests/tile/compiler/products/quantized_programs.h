// SPDX-License-Identifier: Apache-2.0
// Products by constant weights that may be computed with factors of int8, and how far their results
// may be from those of exact sums then.
#pragma once

#include <string>
#include <vector>

#include "tests/tile/compiler/matrix_programs.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan {

struct QuantizedCase {
  MatrixProgram product;
  // A function of the same inputs that gives the greatest error of each result, as the rounding of
  // factors to integers explains it: rows and columns are named by hand.
  std::string bound;
};

inline std::ostream& operator<<(std::ostream& out, const QuantizedCase& test) {
  return out << test.product.name;
}

// Large enough to be worth it, of sizes that neither words nor vectors divide.
const std::vector<QuantizedCase>& QuantizedCases();

// Numbers of both signs, whose rows and columns differ in size by orders of magnitude.
std::vector<HostTensor> UnevenNumbers(const MatrixProgram& program);

// Fails the test unless `actual` is as near to the results in float64 as the case says, and not so
// near that nothing can have been rounded.
void ExpectQuantizationErrors(const QuantizedCase& test, const std::vector<HostTensor>& inputs,
                              const HostTensor& actual);

// A CPU that multiplies so many integers at a time: 4 of 8 bits or 2 of 16.
HardwareSettings IntegerSettings(int64_t products);
compiler::CompileOptions OptionsForIntegers(const HardwareSettings& settings);

// Kernels that add up several products of integers at a time.
int CountIntegerDots(const compiler::KernelList& list);

}  // namespace tartan
