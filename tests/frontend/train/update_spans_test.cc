// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/update_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tartan::train {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Parameter Of(int64_t count, double decay_factor) {
  Parameter parameter;
  parameter.shape = {DataType::kFloat32, {count}};
  parameter.group.decay_factor = decay_factor;
  return parameter;
}

TEST(UpdateSpans, DivideSumsAmongBuffersOfALimitedSize) {
  const auto buffers = LayOutSums({5, 8, 30, 1}, /*unit=*/4, /*most=*/16);
  ASSERT_THAT(buffers, SizeIs(3));
  EXPECT_THAT(buffers[0].positions, ElementsAre(0, 8));
  EXPECT_EQ(buffers[0].count, 16);
  EXPECT_EQ(buffers[1].first, 2);
  EXPECT_EQ(buffers[1].count, 30) << "one tensor may exceed the limit";
  EXPECT_EQ(buffers[2].first, 3);
  EXPECT_THAT(buffers[2].positions, ElementsAre(0));
}

TEST(UpdateSpans, AreOfParametersWithTheSameFactorsOfTheOptimizer) {
  const Parameter a = Of(5, 1);
  const Parameter b = Of(3, 0);
  const Parameter c = Of(8, 1);
  const auto divided = DivideByFactors({&a, &b, &c});
  ASSERT_THAT(divided, SizeIs(2));
  EXPECT_THAT(divided[0], ElementsAre(&a, &c));
  EXPECT_THAT(divided[1], ElementsAre(&b));
}

TEST(UpdateSpans, HaveTheGapsBetweenTheirParameters) {
  const Parameter a = Of(5, 0.5);
  const Parameter b = Of(3, 0.5);
  const Parameter joined = Joined({&a, &b}, {0, 8});
  EXPECT_THAT(joined.shape.dims, ElementsAre(11));
  EXPECT_EQ(joined.group.decay_factor, 0.5);
  EXPECT_TRUE(joined.is_trained);
}

TEST(UpdateSpans, AreNotMadeForNormsOverAParameter) {
  EXPECT_FALSE(JoinsParameters({OptimizerKind::kLamb}));
  EXPECT_TRUE(JoinsParameters({OptimizerKind::kAdamW}));
}

}  // namespace
}  // namespace tartan::train
