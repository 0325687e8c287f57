// SPDX-License-Identifier: Apache-2.0
#include "tile/math/echelon.h"

#include <gtest/gtest.h>

namespace tartan::math {
namespace {

Affine Poly(std::vector<Rational> coefficients) { return {std::move(coefficients), 0}; }

TEST(RowEchelon, LeavesVariablesAlone) {
  const auto echelon = RowEchelon({Poly({1}), Poly({0, 1})}, 2);
  ASSERT_TRUE(echelon.has_value());
  EXPECT_EQ(echelon->pivots, (std::vector<int>{0, 1}));
  EXPECT_EQ(echelon->RowOf(1), 1);
}

TEST(RowEchelon, SaysHowAVariableIsMadeOfThePolynomials) {
  // x = (p + q) / 2 and y = (p - q) / 2 for p = x + y, q = x - y.
  const auto echelon = RowEchelon({Poly({1, 1}), Poly({1, -1})}, 2);
  ASSERT_TRUE(echelon.has_value());
  const int x = echelon->RowOf(0);
  const int y = echelon->RowOf(1);
  ASSERT_GE(x, 0);
  ASSERT_GE(y, 0);
  const Rational half(1, 2);
  EXPECT_EQ(echelon->combinations[x], (std::vector<Rational>{half, half}));
  EXPECT_EQ(echelon->combinations[y], (std::vector<Rational>{half, -half}));
}

TEST(RowEchelon, DropsWhatDependsOnOthers) {
  const auto echelon = RowEchelon({Poly({1, 2}), Poly({2, 4})}, 2);
  ASSERT_TRUE(echelon.has_value());
  EXPECT_EQ(echelon->pivots, std::vector<int>{0});
  EXPECT_EQ(echelon->RowOf(0), -1);
  EXPECT_EQ(echelon->RowOf(1), -1);
}

TEST(RowEchelon, GivesUpWhereNumbersOverflow) {
  const Rational large = int64_t{1} << 62;
  EXPECT_FALSE(RowEchelon({Poly({large, 3}), Poly({7, large})}, 2).has_value());
}

}  // namespace
}  // namespace tartan::math
