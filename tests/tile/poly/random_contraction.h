// SPDX-License-Identifier: Apache-2.0
// Random contractions, small enough to enumerate or with sizes like those of real tensors.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/tile/poly/enumerate.h"

namespace tartan::poly {

class RandomContraction {
 public:
  // Sizes are drawn from `sizes`, at times 0.
  RandomContraction(uint64_t seed, std::vector<int64_t> sizes)
      : random_(seed), sizes_(std::move(sizes)) {}

  // Up to 6 indices, coefficients from -4 to 4, at times fractions and unbounded indices.
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

// The number in an environment variable, for the length of tests.
int64_t FromEnvironment(const char* name, int64_t otherwise);

}  // namespace tartan::poly
