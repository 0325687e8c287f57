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

TEST(UpdateSpans, EndWhereTheFactorsOfTheOptimizerChange) {
  const Parameter a = Of(5, 1);
  const Parameter b = Of(8, 1);
  const Parameter c = Of(3, 0);
  const auto spans = SpansOf({&a, &b, &c}, {0, 8, 16});
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_THAT(spans[0].parameter.shape.dims, ElementsAre(16)) << "with the gap";
  EXPECT_EQ(spans[1].first, 16);
  EXPECT_THAT(spans[1].parameter.shape.dims, ElementsAre(3));
  EXPECT_EQ(spans[1].parameter.group.decay_factor, 0);
}

TEST(UpdateSpans, AreNotMadeForNormsOverAParameter) {
  EXPECT_FALSE(JoinsParameters({OptimizerKind::kLamb}));
  EXPECT_TRUE(JoinsParameters({OptimizerKind::kAdamW}));
}

}  // namespace
}  // namespace tartan::train
