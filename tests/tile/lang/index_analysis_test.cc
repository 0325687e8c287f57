// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/index_analysis.h"

#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tartan::lang {
namespace {

using math::Affine;
using math::RangeConstraint;
using math::Rational;

Affine Poly(std::vector<Rational> coefficients, Rational constant = 0) {
  return {std::move(coefficients), constant};
}

TEST(FindUnboundedIndex, AcceptsVariablesThatIndexATensor) {
  EXPECT_EQ(FindUnboundedIndex({Poly({1}), Poly({0, 1})}, 2), -1);
  EXPECT_EQ(FindUnboundedIndex({}, 0), -1);
}

TEST(FindUnboundedIndex, AcceptsVariablesThatSeveralPolynomialsHold) {
  EXPECT_EQ(FindUnboundedIndex({Poly({1, 1}), Poly({1, -1})}, 2), -1);
}

TEST(FindUnboundedIndex, FindsASumWithoutAnotherBound) {
  EXPECT_GE(FindUnboundedIndex({Poly({1, 1})}, 2), 0);
  EXPECT_GE(FindUnboundedIndex({Poly({1, 1}), Poly({2, 2})}, 2), 0);
}

TEST(FindUnboundedIndex, NamesAVariableThatIsNotHeld) {
  EXPECT_EQ(FindUnboundedIndex({Poly({1, 0, 0}), Poly({0, 0, 1})}, 3), 1);
}

// Returns whether '=' writes an element twice, for variables i in [0, sizes[i]).
math::Answer Collides(const std::vector<Affine>& output, const std::vector<int64_t>& sizes,
                      const std::vector<RangeConstraint>& constraints = {}) {
  std::vector<RangeConstraint> accesses;
  for (size_t i = 0; i < sizes.size(); ++i) {
    accesses.push_back({Affine::Variable(static_cast<int>(i)), sizes[i]});
  }
  Collision collision;
  return FindCollision(output, accesses, constraints, static_cast<int>(sizes.size()), collision);
}

TEST(FindCollision, KnowsPermutations) {
  EXPECT_EQ(Collides({Poly({0, 1}), Poly({1})}, {4, 5}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({2}, 3)}, {4}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({1, 1}), Poly({1, -1})}, {4, 5}), math::Answer::kNo);
}

TEST(FindCollision, SeesSummedVariables) {
  EXPECT_EQ(Collides({Poly({1})}, {4, 3}), math::Answer::kYes);
  EXPECT_EQ(Collides({Poly({1})}, {4, 1}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({1})}, {4, 0}), math::Answer::kNo);
}

TEST(FindCollision, KnowsDigits) {
  EXPECT_EQ(Collides({Poly({2, 1})}, {5, 2}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({-2, 1}, 7)}, {5, 2}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({1, 1})}, {5, 2}), math::Answer::kYes);
  EXPECT_EQ(Collides({Poly({1, 5})}, {5, 2}), math::Answer::kNo);
  EXPECT_EQ(Collides({Poly({1, 4})}, {5, 2}), math::Answer::kYes);
}

TEST(FindCollision, KnowsSumsThatAreNoDigitsButNeverMeet) {
  EXPECT_EQ(Collides({Poly({2, 3})}, {2, 2}), math::Answer::kNo);   // 0, 2, 3, 5
  EXPECT_EQ(Collides({Poly({2, 3})}, {4, 3}), math::Answer::kYes);  // 6 twice
  EXPECT_EQ(Collides({Poly({1, 1})}, {4, 4}, {{Poly({1, -1}), 1}}), math::Answer::kNo);
}

TEST(FindCollision, CountsOnlyPointsWhoseFractionsAreWhole) {
  Collision collision;
  // A[x / 3] permits three of 9 values of x. Values of x - y differ by multiples of 3, so x + y < 3
  // distinguishes them.
  const std::vector<RangeConstraint> accesses = {{Poly({Rational(1, 3)}), 3}, {Poly({0, 1}), 3}};
  EXPECT_EQ(FindCollision({Poly({1, 1})}, accesses, {}, 2, collision), math::Answer::kNo);
  EXPECT_EQ(FindCollision({Poly({1, 3})}, accesses, {}, 2, collision), math::Answer::kYes);
  EXPECT_EQ(collision.first[0] + 3 * collision.first[1],
            collision.second[0] + 3 * collision.second[1]);
}

TEST(FindCollision, IsExactForRandomSpaces) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  int answers[2] = {0, 0};
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Affine> output;
    for (int d = pick(1, 2); d > 0; --d) {
      output.push_back(Poly({pick(-4, 4), pick(-4, 4), pick(-4, 4)}));
    }
    std::vector<int64_t> sizes;
    for (int i = 0; i < 3; ++i) sizes.push_back(pick(1, 4));
    const RangeConstraint constraint = {Poly({pick(-2, 2), pick(-2, 2), pick(-2, 2)}), pick(1, 6)};
    std::set<std::vector<int64_t>> seen;
    bool twice = false;
    for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
      const std::vector<int64_t> point = {i % sizes[0], i / sizes[0] % sizes[1],
                                          i / sizes[0] / sizes[1]};
      if (!constraint.Holds(point)) continue;
      std::vector<int64_t> element;
      for (const Affine& poly : output) element.push_back(poly.Evaluate(point).numerator());
      if (!seen.insert(element).second) twice = true;
    }
    ++answers[twice];
    ASSERT_EQ(Collides(output, sizes, {constraint}), twice ? math::Answer::kYes : math::Answer::kNo)
        << "trial " << trial;
  }
  EXPECT_GT(answers[0], 100);
  EXPECT_GT(answers[1], 100);
}

}  // namespace
}  // namespace tartan::lang
