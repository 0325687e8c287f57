// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/sliding_window.h"

#include <gtest/gtest.h>

namespace tartan::plan {
namespace {

using math::Affine;

// A window of `window` values over a line of `length`, with a step of `stride` and `before` zeros
// at its left. Index 0 is the output's, index 1 the window's.
poly::FlatContraction Line(int64_t outputs, int64_t window, int64_t stride, int64_t before,
                           int64_t length) {
  poly::FlatContraction flat;
  flat.indices = {{"x", outputs}, {"s", window}};
  flat.output_index_count = 1;
  const Affine place =
      Affine::Variable(0) * stride + Affine::Variable(1) + Affine::Constant(-before);
  flat.constraints = {{place, length}};
  return flat;
}

CpuPlan Tiled(const poly::FlatContraction& flat, int64_t tile) {
  CpuPlan plan = ScalarPlan(flat, 1);
  plan.unroll = {tile, flat.indices[1].range};
  plan.task[0] = flat.indices[0].range;
  return plan;
}

TEST(InnerTiles, AreAllButTheFirstAndTheLastWithZerosAtBothEnds) {
  const poly::FlatContraction flat = Line(28, 3, 1, 1, 28);
  const auto inner = InnerTiles(flat, Tiled(flat, 7), 0);
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->begin, 1);
  EXPECT_EQ(inner->end, 3);
}

TEST(InnerTiles, HaveTheLastOneWhereTheWindowEndsInTheLine) {
  const poly::FlatContraction flat = Line(14, 3, 2, 1, 28);
  const auto inner = InnerTiles(flat, Tiled(flat, 7), 0);
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->begin, 1);
  EXPECT_EQ(inner->end, 2);
}

TEST(InnerTiles, CountATileThatIsDrawnBackAsAnEdge) {
  const poly::FlatContraction flat = Line(15, 3, 1, 1, 100);
  const auto inner = InnerTiles(flat, Tiled(flat, 4), 0);
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->begin, 1);
  EXPECT_EQ(inner->end, 3);
}

TEST(InnerTiles, AreNoneWhereEveryTileIsAnEdge) {
  const poly::FlatContraction flat = Line(7, 3, 1, 1, 7);
  const auto inner = InnerTiles(flat, Tiled(flat, 7), 0);
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->begin, inner->end);
}

TEST(InnerTiles, AreNotToldWhereTheWindowIsALoop) {
  const poly::FlatContraction flat = Line(28, 3, 1, 1, 28);
  CpuPlan plan = Tiled(flat, 7);
  plan.unroll[1] = 1;
  EXPECT_FALSE(InnerTiles(flat, plan, 0).has_value());
}

TEST(InnerTiles, AreNotToldWhereEdgesAreMany) {
  const poly::FlatContraction flat = Line(28, 7, 1, 3, 28);
  EXPECT_FALSE(InnerTiles(flat, Tiled(flat, 1), 0).has_value());
}

TEST(DistinctElements, CountsWhatNeighboursShareOnce) {
  const poly::FlatContraction flat = Line(28, 3, 1, 1, 28);
  EXPECT_EQ(DistinctElements(Tiled(flat, 7), {1, 1}), 9);
  EXPECT_EQ(DistinctElements(Tiled(flat, 7), {2, 1}), 15);
  EXPECT_EQ(DistinctElements(Tiled(flat, 7), {5, 1}), 21);
  EXPECT_EQ(DistinctElements(Tiled(flat, 7), {0, 1}), 3);
}

TEST(DistinctElements, CountsVectors) {
  const poly::FlatContraction flat = Line(32, 3, 1, 1, 32);
  CpuPlan plan = Tiled(flat, 16);
  plan.vector_index = 0;
  plan.lanes = 8;
  EXPECT_EQ(DistinctElements(plan, {1, 1}), 6);
}

TEST(Slides, IsWhatOverlapsAtNeighbours) {
  const poly::FlatContraction flat = Line(28, 3, 1, 1, 28);
  EXPECT_TRUE(Slides(flat, {16, 16}, 0, 1));
  EXPECT_TRUE(Slides(flat, {32, 16}, 0, 1));
  EXPECT_FALSE(Slides(flat, {48, 16}, 0, 1));
  EXPECT_FALSE(Slides(flat, {1, 16}, 0, 1));
  EXPECT_FALSE(Slides(flat, {0, 16}, 0, 1));
}

}  // namespace
}  // namespace tartan::plan
