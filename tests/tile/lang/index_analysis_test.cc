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

TEST(OutputDeterminesIndices, KnowsPermutations) {
  EXPECT_TRUE(OutputDeterminesIndices({Poly({0, 1}), Poly({1})}, {}, 2));
  EXPECT_TRUE(OutputDeterminesIndices({Poly({2}, 3)}, {}, 1));
  EXPECT_TRUE(OutputDeterminesIndices({Poly({1, 1}), Poly({1, -1})}, {}, 2));
}

TEST(OutputDeterminesIndices, MissesSummedVariables) {
  EXPECT_FALSE(OutputDeterminesIndices({Poly({1})}, {{Poly({0, 1}), 3}}, 2));
}

TEST(OutputDeterminesIndices, AcceptsASummedVariableWithOneValue) {
  EXPECT_TRUE(OutputDeterminesIndices({Poly({1})}, {{Poly({0, 1}), 1}}, 2));
}

TEST(OutputDeterminesIndices, KnowsDigits) {
  const std::vector<RangeConstraint> ranges = {{Poly({1}), 5}, {Poly({0, 1}), 2}};
  EXPECT_TRUE(OutputDeterminesIndices({Poly({2, 1})}, ranges, 2));
  EXPECT_TRUE(OutputDeterminesIndices({Poly({-2, 1}, 7)}, ranges, 2));
  EXPECT_FALSE(OutputDeterminesIndices({Poly({1, 1})}, ranges, 2));
  EXPECT_TRUE(OutputDeterminesIndices({Poly({1, 5})}, ranges, 2));
  EXPECT_FALSE(OutputDeterminesIndices({Poly({1, 4})}, ranges, 2));
}

// Where the answer is yes, no two points of the space may meet.
TEST(OutputDeterminesIndices, NeverSaysYesWrongly) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  int yes = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Affine> output;
    for (int d = pick(1, 2); d > 0; --d) {
      output.push_back(Poly({pick(-4, 4), pick(-4, 4), pick(-4, 4)}));
    }
    std::vector<RangeConstraint> ranges;
    std::vector<int64_t> sizes;
    for (int i = 0; i < 3; ++i) {
      sizes.push_back(pick(1, 4));
      ranges.push_back({Affine::Variable(i), sizes.back()});
    }
    if (!OutputDeterminesIndices(output, ranges, 3)) continue;
    ++yes;
    std::set<std::vector<int64_t>> seen;
    for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
      const std::vector<int64_t> point = {i % sizes[0], i / sizes[0] % sizes[1],
                                          i / sizes[0] / sizes[1]};
      std::vector<int64_t> element;
      for (const Affine& poly : output) element.push_back(poly.Evaluate(point).numerator());
      ASSERT_TRUE(seen.insert(element).second) << trial;
    }
  }
  EXPECT_GT(yes, 100);
}

}  // namespace
}  // namespace tartan::lang
