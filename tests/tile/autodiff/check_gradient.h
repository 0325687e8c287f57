// SPDX-License-Identifier: Apache-2.0
// Checks gradients of Tile functions against central differences in float64.
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
  // Floats are drawn from [low, high], integers from [-5, 5].
  double low = -2;
  double high = 2;
  bool whole = false;  // draws whole numbers as floats
};

inline std::ostream& operator<<(std::ostream& out, const GradientCase& test) {
  return out << test.name;
}

TensorShape F64(std::vector<int64_t> dims);
TensorShape I64(std::vector<int64_t> dims);
HostTensor Doubles(std::vector<int64_t> dims, const std::vector<double>& values);

// Parses and binds a function. On a failure, fails the test and returns an empty program.
ir::Program BindCode(const std::string& code, const std::vector<TensorShape>& inputs);

// Draws inputs deterministically from a seed.
std::vector<HostTensor> DrawInputs(const GradientCase& test, uint64_t seed);

// Evaluates the program's outputs followed by their gradients with respect to `wrt`. A failure
// fails the test.
std::vector<HostTensor> GradientsOf(const ir::Program& program, const std::vector<int>& wrt,
                                    const std::vector<HostTensor>& inputs,
                                    const GradientOptions& options = {});

struct Comparison {
  std::string difference;  // "" if all elements agree
  int compared = 0;
  int skipped = 0;  // elements near a kink, where differences with two step sizes disagree
};

// Compares the gradients of all float inputs with central differences, for random output seeds.
Comparison CompareWithDifferences(const ir::Program& program, const std::vector<HostTensor>& inputs,
                                  const GradientOptions& options = {});

// Binds the function, draws inputs and compares. Expects no difference, and at most a tenth of the
// elements skipped.
void ExpectGradientEqualsDifferences(const GradientCase& test, const GradientOptions& options = {});

}  // namespace tartan::autodiff
