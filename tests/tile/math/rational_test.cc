// SPDX-License-Identifier: Apache-2.0
#include "tile/math/rational.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace tartan::math {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Rational, IsReducedWithPositiveDenominator) {
  EXPECT_EQ(Rational(6, -4).ToString(), "-3/2");
  EXPECT_EQ(Rational(0, -7), Rational(0));
  EXPECT_TRUE(Rational(8, 4).is_integer());
}

TEST(Rational, ComputesExactly) {
  EXPECT_EQ(Rational(1, 3) + Rational(1, 6), Rational(1, 2));
  EXPECT_EQ(Rational(1, 3) - Rational(1, 2), Rational(-1, 6));
  EXPECT_EQ(Rational(2, 3) * Rational(9, 4), Rational(3, 2));
  EXPECT_EQ(Rational(2, 3) / Rational(-4, 3), Rational(-1, 2));
  EXPECT_LT(Rational(1, 3), Rational(1, 2));
  EXPECT_GE(Rational(-1, 3), Rational(-1, 2));
}

TEST(Rational, RoundsDownAndUp) {
  EXPECT_EQ(Rational(-7, 2).Floor(), -4);
  EXPECT_EQ(Rational(-7, 2).Ceil(), -3);
  EXPECT_EQ(Rational(7, 2).Floor(), 3);
  EXPECT_EQ(Rational(7, 2).Ceil(), 4);
  EXPECT_EQ(Rational(-6, 2).Floor(), -3);
  EXPECT_EQ(Rational(-6, 2).Ceil(), -3);
}

TEST(Rational, BecomesInvalidWhereItLeaves64Bits) {
  EXPECT_FALSE((Rational(kMax) + Rational(1)).valid());
  EXPECT_FALSE((Rational(kMin) - Rational(1)).valid());
  EXPECT_FALSE((-Rational(kMin)).valid());
  EXPECT_FALSE((Rational(kMax) * Rational(2)).valid());
  EXPECT_FALSE((Rational(1, kMax) * Rational(1, 2)).valid());
  EXPECT_FALSE(Rational(1, kMin).valid());
}

TEST(Rational, StaysExactAtTheEdgeOf64Bits) {
  EXPECT_EQ(Rational(kMax) + Rational(kMin), Rational(-1));
  EXPECT_EQ(Rational(kMax) * Rational(1, kMax), Rational(1));
  EXPECT_EQ(Rational(kMin, kMin), Rational(1));
  EXPECT_LT(Rational(kMax - 1, kMax), Rational(1));
}

TEST(Rational, StaysInvalid) {
  Rational invalid = Rational(1) / Rational(0);
  EXPECT_FALSE(invalid.valid());
  EXPECT_FALSE((invalid + Rational(1)).valid());
  EXPECT_FALSE((invalid * Rational(0)).valid());
  EXPECT_FALSE((Rational(0) / invalid).valid());
  EXPECT_FALSE((-invalid).valid());
  EXPECT_EQ(invalid.ToString(), "invalid");
  EXPECT_EQ(invalid, Rational::Invalid());
}

}  // namespace
}  // namespace tartan::math
