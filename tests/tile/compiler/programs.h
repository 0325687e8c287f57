// SPDX-License-Identifier: Apache-2.0
// Small Tile programs whose sizes exercise every path from text to kernels, with their inputs and
// expected results. Tests that compare with the naive evaluator share them.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tile/base/host_tensor.h"
#include "tile/ir/program.h"

namespace tartan {

struct TestProgram {
  std::string name;
  std::string code;
  std::vector<TensorShape> inputs;
  // Integers are drawn from [low, high], floats from the same interval.
  double low = -2;
  double high = 2;
};

// Texts that several tests of plans share: a matmul, and a channels-last convolution with padding
// for 3x3 windows.
inline constexpr char kMatMul[] =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
inline constexpr char kPaddedConvolution[] =
    "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (R) { O[n, x, y, co : N, X, Y, CO] = "
    "+(D[n, x+i-1, y+j-1, ci] * K[i, j, ci, co]); R = (O > 0 ? O : 0); }";

const std::vector<TestProgram>& TestPrograms();

ir::Program BindTestProgram(const TestProgram& program);

// Draws inputs deterministically from a seed.
std::vector<HostTensor> RandomInputs(const TestProgram& program, uint64_t seed);

// Compares shapes and elements: integers exactly, floats within |a - b| <= tolerance * (1 + |b|),
// NaN only with NaN. Returns "" if equal, else the first difference.
std::string FirstDifference(const HostTensor& actual, const HostTensor& expected, double tolerance);

inline std::ostream& operator<<(std::ostream& out, const TestProgram& program) {
  return out << program.name;
}

}  // namespace tartan
