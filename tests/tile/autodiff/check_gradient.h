// SPDX-License-Identifier: Apache-2.0
// Gradients of Tile functions against central differences in float64.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tile/autodiff/gradient.h"
#include "tile/base/host_tensor.h"

namespace tartan::autodiff {

struct GradientCase {
  std::string name;
  std::string code;
  std::vector<TensorShape> inputs;
  // Floats are drawn from the interval, integers from [-5, 5].
  double low = -2;
  double high = 2;
  bool whole = false;  // floats are whole numbers
};

inline std::ostream& operator<<(std::ostream& out, const GradientCase& test) {
  return out << test.name;
}

TensorShape F64(std::vector<int64_t> dims);
TensorShape I64(std::vector<int64_t> dims);
HostTensor Doubles(std::vector<int64_t> dims, const std::vector<double>& values);

// A failure to parse or bind fails the test and gives an empty program.
ir::Program BindCode(const std::string& code, const std::vector<TensorShape>& inputs);

// Deterministic for a seed.
std::vector<HostTensor> DrawInputs(const GradientCase& test, uint64_t seed);

// The outputs of Gradient(program, wrt) behind those of the program; a failure fails the test.
std::vector<HostTensor> GradientsOf(const ir::Program& program, const std::vector<int>& wrt,
                                    const std::vector<HostTensor>& inputs,
                                    const GradientOptions& options = {});

struct Comparison {
  std::string difference;  // "" where all are equal
  int compared = 0;
  int skipped = 0;  // elements near a kink, where differences of two widths disagree
};

// Gradients by all float inputs, for random seeds of the outputs, with central differences.
Comparison CompareWithDifferences(const ir::Program& program, const std::vector<HostTensor>& inputs,
                                  const GradientOptions& options = {});

// Binds, draws inputs, compares: no difference and at most a tenth of the elements skipped.
void ExpectGradientEqualsDifferences(const GradientCase& test, const GradientOptions& options = {});

}  // namespace tartan::autodiff
