// SPDX-License-Identifier: Apache-2.0
// Generates random contractions, small enough to enumerate or with the sizes of real tensors.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/tile/poly/enumerate.h"

namespace tartan::poly {

class RandomContraction {
 public:
  // Draws sizes from `sizes`, and sometimes 0.
  RandomContraction(uint64_t seed, std::vector<int64_t> sizes)
      : random_(seed), sizes_(std::move(sizes)) {}

  // Returns a problem with up to 6 indices and coefficients from -4 to 4. Some have fractions or
  // unbounded indices.
  Problem Next();

 private:
  int64_t Between(int64_t low, int64_t high);
  int64_t NextSize();
  math::Affine NextPoly(int count);
  ir::Access NextAccess(int count, int64_t rank, std::vector<int64_t>& dims);

  std::mt19937_64 random_;
  std::vector<int64_t> sizes_;
  bool fractions_ = false;
};

// Returns the number in an environment variable, which sets the length of tests.
int64_t FromEnvironment(const char* name, int64_t otherwise);

}  // namespace tartan::poly
