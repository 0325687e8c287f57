// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/poly/random_contraction.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tartan::poly {

Problem RandomContraction::Next() {
  Problem problem;
  int count = static_cast<int>(Between(1, 6));
  fractions_ = Between(0, 5) == 0;
  for (int i = 0; i < count; ++i) {
    problem.contraction.index_names.push_back(absl::StrCat("x", i));
  }
  problem.contraction.output = NextAccess(count, Between(0, 3), problem.output_dims);
  int64_t inputs = Between(1, 3);
  for (int64_t i = 0; i < inputs; ++i) {
    problem.input_dims.emplace_back();
    problem.contraction.inputs.push_back(
        NextAccess(count, Between(1, 4), problem.input_dims.back()));
  }
  for (int64_t i = Between(-2, 2); i > 0; --i) {
    problem.contraction.constraints.push_back({NextPoly(count), NextSize()});
  }
  // Adds a bound for most of the unbounded indices.
  for (int i = 0; i < count && !IsBounded(problem); ++i) {
    if (Between(0, 50) == 0) continue;
    problem.contraction.constraints.push_back({math::Affine::Variable(i), NextSize()});
  }
  return problem;
}

int64_t RandomContraction::Between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

int64_t RandomContraction::NextSize() {
  return Between(0, 60) == 0 ? 0 : sizes_[Between(0, static_cast<int64_t>(sizes_.size()) - 1)];
}

math::Affine RandomContraction::NextPoly(int count) {
  math::Affine poly = math::Affine::Constant(Between(0, 4) == 0 ? Between(-3, 3) : 0);
  int64_t form = Between(0, 9);
  if (form < 5) {
    poly.set_coefficient(static_cast<int>(Between(0, count - 1)), Between(0, 9) == 0 ? -1 : 1);
  } else if (form < 9) {
    for (int64_t terms = Between(1, 3); terms > 0; --terms) {
      poly.set_coefficient(static_cast<int>(Between(0, count - 1)), Between(-4, 4));
    }
  }
  if (fractions_ && Between(0, 2) == 0) poly = poly * math::Rational(1, Between(2, 3));
  return poly;
}

ir::Access RandomContraction::NextAccess(int count, int64_t rank, std::vector<int64_t>& dims) {
  ir::Access access;
  for (int64_t i = 0; i < rank; ++i) {
    access.indices.push_back(NextPoly(count));
    dims.push_back(NextSize());
  }
  return access;
}

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace tartan::poly
