// SPDX-License-Identifier: Apache-2.0
#include "tile/math/integer_system.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/math/integer.h"

namespace tartan::math {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Integer, DividesDownAndUp) {
  EXPECT_EQ(FloorDiv(-7, 2), -4);
  EXPECT_EQ(CeilDiv(-7, 2), -3);
  EXPECT_EQ(FloorDiv(7, 2), 3);
  EXPECT_EQ(CeilDiv(7, 2), 4);
  EXPECT_EQ(FloorMod(-7, 3), 2);
  EXPECT_EQ(FloorMod(6, 3), 0);
  EXPECT_EQ(Gcd(-12, 18), 6);
  EXPECT_EQ(Gcd(0, -5), 5);
  EXPECT_EQ(Gcd(0, 0), 0);
}

LinearConstraint Constraint(std::vector<Rational> coefficients, Rational constant, int64_t range) {
  int count = static_cast<int>(coefficients.size());
  auto linear = ToLinear({{std::move(coefficients), constant}, range}, count);
  EXPECT_TRUE(linear.has_value());
  return linear.value_or(LinearConstraint{});
}

TEST(ToLinear, DividesByTheCommonFactorAndRoundsInward) {
  // 0 <= 2x + 4y - 1 < 6 is 0.5 <= x + 2y < 3.5.
  LinearConstraint c = Constraint({2, 4}, -1, 6);
  EXPECT_THAT(c.coefficients, ElementsAre(1, 2));
  EXPECT_EQ(c.interval, (Interval{1, 3}));
}

TEST(ToLinear, ScalesFractionsAway) {
  // 0 <= x/2 - y/3 + 1/4 < 2 is -1.5 <= 3x - 2y < 10.5.
  LinearConstraint c = Constraint({Rational(1, 2), Rational(-1, 3)}, Rational(1, 4), 2);
  EXPECT_THAT(c.coefficients, ElementsAre(3, -2));
  EXPECT_EQ(c.interval, (Interval{-1, 10}));
}

TEST(ToLinear, RefusesNumbersBeyond60Bits) {
  EXPECT_FALSE(ToLinear({Affine::Variable(0, int64_t{1} << 61), 4}, 1).has_value());
  EXPECT_FALSE(ToLinear({Affine::Variable(0, Rational::Invalid()), 4}, 1).has_value());
}

TEST(MergeParallel, LeavesDifferentDirectionsAlone) {
  std::vector<LinearConstraint> constraints = {Constraint({1, 0}, 0, 4), Constraint({1, 1}, 0, 4)};
  ASSERT_TRUE(MergeParallel(constraints));
  EXPECT_EQ(constraints.size(), 2);
}

TEST(MergeParallel, IntersectsMultiplesAndNegatives) {
  // 0 <= x - y < 10, 0 <= 2y - 2x + 9 < 10: x - y in [0, 4].
  std::vector<LinearConstraint> constraints = {Constraint({1, -1}, 0, 10),
                                               Constraint({-2, 2}, 9, 10)};
  ASSERT_TRUE(MergeParallel(constraints));
  ASSERT_EQ(constraints.size(), 1);
  EXPECT_THAT(constraints[0].coefficients, ElementsAre(1, -1));
  EXPECT_EQ(constraints[0].interval, (Interval{0, 4}));
}

TEST(MergeParallel, FindsContradictions) {
  std::vector<LinearConstraint> apart = {Constraint({1}, 0, 3), Constraint({1}, -3, 3)};
  EXPECT_FALSE(MergeParallel(apart));
  // 0 <= 2x - 1 < 1 has no integer solution.
  std::vector<LinearConstraint> between = {Constraint({2}, -1, 1)};
  EXPECT_FALSE(MergeParallel(between));
  std::vector<LinearConstraint> constant = {Constraint({0}, -1, 5)};
  EXPECT_FALSE(MergeParallel(constant));
}

TEST(MergeParallel, DropsWhatIsAlwaysTrue) {
  std::vector<LinearConstraint> constraints = {Constraint({0}, 4, 5)};
  ASSERT_TRUE(MergeParallel(constraints));
  EXPECT_THAT(constraints, IsEmpty());
}

TEST(Propagate, BoundsThroughChains) {
  // x in [0, 4), 0 <= y - x < 3, 0 <= z - 2y < 1.
  std::vector<LinearConstraint> constraints = {
      Constraint({1, 0, 0}, 0, 4), Constraint({-1, 1, 0}, 0, 3), Constraint({0, -2, 1}, 0, 1)};
  std::vector<Interval> box(3);
  ASSERT_TRUE(Propagate(constraints, box));
  EXPECT_THAT(box, ElementsAre(Interval{0, 3}, Interval{0, 5}, Interval{0, 10}));
}

TEST(Propagate, LeavesUnboundedVariablesOpen) {
  std::vector<LinearConstraint> constraints = {Constraint({1, 1}, 0, 4)};
  std::vector<Interval> box(2);
  ASSERT_TRUE(Propagate(constraints, box));
  EXPECT_THAT(box, ElementsAre(Interval{}, Interval{}));
}

TEST(Propagate, EndsWhereTheBoundsCreep) {
  // x < y < x: every round takes one off a range of 2^40.
  std::vector<LinearConstraint> constraints = {
      Constraint({1, 0}, 0, int64_t{1} << 40), Constraint({0, 1}, 0, int64_t{1} << 40),
      Constraint({-1, 1}, -1, int64_t{1} << 40), Constraint({1, -1}, -1, int64_t{1} << 40)};
  std::vector<Interval> box(2);
  EXPECT_TRUE(Propagate(constraints, box));
  EXPECT_GT(box[0].size(), int64_t{1} << 39);
  EXPECT_FALSE(MergeParallel(constraints));
}

TEST(FindPoint, SaysWhenTheBudgetEnds) {
  // 6x + 10y + 15z = 1 has solutions; none is found without a node.
  std::vector<LinearConstraint> constraints = {Constraint({6, 10, 15}, -1, 1)};
  std::vector<Interval> box(3, Interval{-20, 20});
  int64_t budget = 0;
  std::vector<int64_t> point;
  EXPECT_EQ(FindPoint(constraints, box, budget, point), Answer::kUnknown);
  budget = 10000;
  ASSERT_EQ(FindPoint(constraints, box, budget, point), Answer::kYes);
  EXPECT_EQ(6 * point[0] + 10 * point[1] + 15 * point[2], 1);
}

TEST(TightenBounds, FindsWhatIntervalsMiss) {
  // 3x = 2y with y in [1, 10], x in [1, 10]: x in {2, 4, 6}, y in {3, 6, 9}.
  std::vector<LinearConstraint> constraints = {Constraint({3, -2}, 0, 1)};
  std::vector<Interval> box(2, Interval{1, 10});
  int64_t budget = 1000;
  EXPECT_EQ(TightenBounds(constraints, {0, 1}, budget, box), Answer::kYes);
  EXPECT_THAT(box, ElementsAre(Interval{2, 6}, Interval{3, 9}));
}

TEST(TightenBounds, IsExactOnRandomSystems) {
  constexpr uint64_t kSeed = 7;
  for (uint64_t seed = kSeed; seed < kSeed + 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    auto between = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    constexpr int kCount = 3;
    std::vector<LinearConstraint> constraints;
    for (int64_t i = between(1, 3); i > 0; --i) {
      std::vector<Rational> coefficients;
      for (int j = 0; j < kCount; ++j) coefficients.push_back(between(-5, 5));
      constraints.push_back(Constraint(coefficients, between(-9, 9), between(1, 4)));
    }
    std::vector<Interval> exact(kCount, Interval{100, -100});
    std::vector<int64_t> x(kCount);
    for (x[0] = -6; x[0] <= 6; ++x[0]) {
      for (x[1] = -6; x[1] <= 6; ++x[1]) {
        for (x[2] = -6; x[2] <= 6; ++x[2]) {
          bool holds = std::all_of(constraints.begin(), constraints.end(), [&](const auto& c) {
            int64_t sum = 0;
            for (int i = 0; i < kCount; ++i) sum += c.coefficients[i] * x[i];
            return c.interval.Contains({sum, sum});
          });
          for (int i = 0; holds && i < kCount; ++i) {
            exact[i] = {std::min(exact[i].min, x[i]), std::max(exact[i].max, x[i])};
          }
        }
      }
    }
    std::vector<Interval> box(kCount, Interval{-6, 6});
    int64_t budget = 100000;
    Answer answer = MergeParallel(constraints) ? TightenBounds(constraints, {0, 1, 2}, budget, box)
                                               : Answer::kNo;
    ASSERT_EQ(answer, exact[0].empty() ? Answer::kNo : Answer::kYes);
    if (answer == Answer::kYes) {
      ASSERT_EQ(box, exact);
    }
  }
}

}  // namespace
}  // namespace tartan::math
