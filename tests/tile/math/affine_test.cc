// SPDX-License-Identifier: Apache-2.0
#include "tile/math/affine.h"

#include <limits>

#include "gtest/gtest.h"

namespace tartan::math {
namespace {

Affine Poly(std::vector<Rational> coefficients, Rational constant) {
  return {std::move(coefficients), constant};
}

TEST(Affine, PrintsLikeTile) {
  EXPECT_EQ(Poly({1, 2, 0}, -1).ToString({"n", "x"}), "n + 2*x - 1");
  EXPECT_EQ(Poly({-1, 0, Rational(1, 2)}, 0).ToString({"n"}), "-n + 1/2*i2");
  EXPECT_EQ(Affine::Constant(0).ToString(), "0");
  EXPECT_EQ(Affine::Constant(-3).ToString(), "-3");
}

TEST(Affine, ComparesWithoutTrailingZeros) {
  EXPECT_EQ(Poly({1, 0, 0}, 2), Poly({1}, 2));
  EXPECT_FALSE(Poly({1, 1}, 2) == Poly({1}, 2));
  EXPECT_FALSE(Poly({1}, 2) == Poly({1}, 3));
}

TEST(Affine, AddsAndScales) {
  Affine a = Poly({1, 2}, 3), b = Poly({0, -2, 5}, 1);
  EXPECT_EQ(a + b, Poly({1, 0, 5}, 4));
  EXPECT_EQ(a - b, Poly({1, 4, -5}, 2));
  EXPECT_EQ(a * Rational(1, 2), Poly({Rational(1, 2), 1}, Rational(3, 2)));
  EXPECT_EQ(-a, Poly({-1, -2}, -3));
}

TEST(Affine, SubstitutesPolynomialsForVariables) {
  // 2a + 3b - 1 with a = x + 1, b = x - y.
  std::vector<Affine> map = {Poly({1}, 1), Poly({1, -1}, 0)};
  EXPECT_EQ(Poly({2, 3}, -1).Substitute(map), Poly({5, -3}, 1));
}

TEST(Affine, EvaluatesExactly) {
  EXPECT_EQ(Poly({Rational(1, 2), Rational(1, 3)}, 1).Evaluate({1, 1}), Rational(11, 6));
}

TEST(Affine, KnowsItsShape) {
  EXPECT_TRUE(Poly({0, 0}, 5).is_constant());
  EXPECT_EQ(Poly({0, 3}, 5).single_variable(), 1);
  EXPECT_EQ(Poly({1, 3}, 5).single_variable(), -1);
  EXPECT_EQ(Affine::Constant(1).single_variable(), -1);
  EXPECT_FALSE(Poly({Rational(1, 2)}, 0).is_integer());
  EXPECT_FALSE((Affine::Constant(std::numeric_limits<int64_t>::max()) * Rational(2)).valid());
}

TEST(RangeConstraint, HoldsFromZeroBelowItsRange) {
  RangeConstraint constraint{Poly({1, 1}, -1), 4};
  EXPECT_FALSE(constraint.Holds({0, 0}));
  EXPECT_TRUE(constraint.Holds({1, 0}));
  EXPECT_TRUE(constraint.Holds({2, 2}));
  EXPECT_FALSE(constraint.Holds({3, 2}));
  EXPECT_EQ(constraint.ToString({"x", "i"}), "0 <= x + i - 1 < 4");
}

TEST(RangeConstraint, NeedsNoInteger) {
  RangeConstraint constraint{Affine::Variable(0, Rational(1, 2)), 1};
  EXPECT_TRUE(constraint.Holds({1}));
  EXPECT_FALSE(constraint.Holds({2}));
}

}  // namespace
}  // namespace tartan::math
