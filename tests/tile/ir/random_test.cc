// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/random.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;

// Known answers of the reference implementation (Random123, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(PhiloxBlock(0, {0, 0}),
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
}

TEST(RandomUniform, StaysBelowOneAndAveragesAHalf) {
  double sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const float value = RandomUniform(i, {1, 2});
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);  // five standard deviations
}

TEST(RandomUniform, DiffersBetweenSeedsAndPositions) {
  EXPECT_NE(RandomUniform(0, {1, 2}), RandomUniform(1, {1, 2}));
  EXPECT_NE(RandomUniform(0, {1, 2}), RandomUniform(4, {1, 2}));
  EXPECT_NE(RandomUniform(0, {1, 2}), RandomUniform(0, {2, 1}));
  EXPECT_NE(RandomUniform(0, {1, 2}), RandomUniform(uint64_t{1} << 34, {1, 2}));
}

}  // namespace
}  // namespace tartan::ir
