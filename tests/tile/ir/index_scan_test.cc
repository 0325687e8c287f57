// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/index_scan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::ir {
namespace {

using math::Affine;
using ::testing::ElementsAre;
using Point = std::vector<int64_t>;

std::vector<Point> Points(const std::vector<math::RangeConstraint>& constraints, int variables) {
  const std::vector<std::string> names(variables, "i");
  const auto scan = IndexScan::Create(constraints, names);
  EXPECT_TRUE(scan.ok()) << scan.status();
  std::vector<Point> points;
  const absl::Status status =
      scan->ForEachRun(1000000, [&](absl::Span<int64_t> point, int64_t begin, int64_t end) {
        for (int64_t x = begin; x < end; ++x) {
          point.back() = x;
          points.emplace_back(point.begin(), point.end());
        }
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return points;
}

Affine Var(int i, math::Rational c = 1) { return Affine::Variable(i, c); }

TEST(IndexScan, VisitsABoxInOrder) {
  EXPECT_THAT(Points({{Var(0), 2}, {Var(1) - Affine::Constant(5), 2}}, 2),
              ElementsAre(Point{0, 5}, Point{0, 6}, Point{1, 5}, Point{1, 6}));
}

TEST(IndexScan, VisitsATriangleExactly) {
  EXPECT_THAT(
      Points({{Var(0), 3}, {Var(1), 3}, {Var(0) - Var(1), 3}}, 2),
      ElementsAre(Point{0, 0}, Point{1, 0}, Point{1, 1}, Point{2, 0}, Point{2, 1}, Point{2, 2}));
}

TEST(IndexScan, RoundsBoundsInward) {
  EXPECT_THAT(Points({{Var(0, 3) - Affine::Constant(1), 7}}, 1), ElementsAre(Point{1}, Point{2}));
  EXPECT_THAT(Points({{Var(0, -2), 4}}, 1), ElementsAre(Point{-1}, Point{0}));
}

TEST(IndexScan, VisitsNothingWhereConditionsContradict) {
  EXPECT_TRUE(Points({{Var(0), 3}, {Var(0) - Affine::Constant(3), 3}}, 1).empty());
  EXPECT_TRUE(Points({{Var(0), 3}, {Affine::Constant(5), 5}}, 1).empty());
  EXPECT_TRUE(Points({{Var(0), 0}}, 1).empty());
}

TEST(IndexScan, HandlesSizesNearTheLimit) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_THAT(Points({{Var(0), large}, {Affine::Constant(large) - Var(0), 3}}, 1),
              ElementsAre(Point{large - 2}, Point{large - 1}));
}

TEST(IndexScan, SaysWhatIsUnbounded) {
  const std::vector<std::string> names = {"x", "y"};
  const std::vector<math::RangeConstraint> constraints = {{Var(0) + Var(1), 4}};
  EXPECT_EQ(IndexScan::Create(constraints, names).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(IndexScan, BoundsThreeVariablesByTheirPairwiseSums) {
  // i + j, j + k and i + k in {0, 1}: every integer point is among these.
  const std::vector<Point> points =
      Points({{Var(0) + Var(1), 2}, {Var(1) + Var(2), 2}, {Var(0) + Var(2), 2}}, 3);
  EXPECT_THAT(points, ElementsAre(Point{0, 0, 0}, Point{0, 0, 1}, Point{0, 1, 0}, Point{1, 0, 0}));
}

}  // namespace
}  // namespace tartan::ir
