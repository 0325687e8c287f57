// SPDX-License-Identifier: Apache-2.0
#include "tile/base/float16.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace tartan {
namespace {

TEST(Float16, EveryFiniteHalfReadsBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(FloatToHalf(value), bits) << value;
  }
}

TEST(Float16, EveryBFloatReadsBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = BFloat16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(FloatToBFloat16(value), bits) << value;
  }
}

TEST(Float16, KnowsItsLandmarks) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0f);
  EXPECT_EQ(HalfToFloat(0xC000), -2.0f);
  EXPECT_EQ(HalfToFloat(0x7BFF), 65504.0f);
  EXPECT_EQ(HalfToFloat(0x0001), std::ldexp(1.0f, -24));  // smallest denormal
  EXPECT_EQ(HalfToFloat(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(BFloat16ToFloat(0x3F80), 1.0f);
}

TEST(Float16, RoundsHalfwayCasesToEven) {
  EXPECT_EQ(HalfToFloat(FloatToHalf(2049)), 2048);
  EXPECT_EQ(HalfToFloat(FloatToHalf(2051)), 2052);
  EXPECT_EQ(BFloat16ToFloat(FloatToBFloat16(257)), 256);
  EXPECT_EQ(BFloat16ToFloat(FloatToBFloat16(259)), 260);
  EXPECT_EQ(FloatToHalf(std::ldexp(1.0f, -25)), 0);  // half of the smallest denormal
}

TEST(Float16, OverflowsToInfinityAndKeepsNaN) {
  EXPECT_EQ(FloatToHalf(65519), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520), 0x7C00);
  EXPECT_EQ(FloatToHalf(-1e10f), 0xFC00);
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(NAN))));
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(NAN))));
  EXPECT_EQ(BFloat16ToFloat(FloatToBFloat16(INFINITY)), INFINITY);
}

TEST(Float16, PairsHaveTheFirstNumberBelow) {
  EXPECT_EQ(PairBFloat16(1, -2), static_cast<int32_t>(0xC0003F80u));
  EXPECT_EQ(PairBFloat16(257, 259), static_cast<int32_t>(0x43824380u));  // ties to even
  EXPECT_EQ(PairBFloat16(-0.0f, 0), 0x00008000);
}

TEST(Float16, ProductsOfPairsAreAddedUp) {
  EXPECT_EQ(DotBFloat16(PairBFloat16(3, 5), PairBFloat16(-7, 11)), -21 + 55);
  EXPECT_EQ(DotBFloat16(PairBFloat16(0, INFINITY), PairBFloat16(9, -1)), -INFINITY);
  EXPECT_EQ(DotBFloat16(PairBFloat16(INFINITY, 0), PairBFloat16(2, 1)), INFINITY);
  EXPECT_TRUE(std::isnan(DotBFloat16(PairBFloat16(NAN, 0), PairBFloat16(2, 1))));
  EXPECT_TRUE(std::isnan(DotBFloat16(PairBFloat16(0, NAN), PairBFloat16(2, 1))));
  EXPECT_TRUE(std::isnan(DotBFloat16(PairBFloat16(0, INFINITY), PairBFloat16(2, 0))));
}

}  // namespace
}  // namespace tartan
