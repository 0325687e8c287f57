// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/basis.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::poly::basis_test {
namespace {

using math::Affine;
using math::Rational;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Affine Poly(std::vector<Rational> coefficients, Rational constant = 0) {
  return {std::move(coefficients), constant};
}

std::vector<std::string> Texts(const std::vector<Row>& rows) {
  std::vector<std::string> result;
  for (const Row& row : rows) result.push_back(row.ToAffine().ToString());
  return result;
}

TEST(Basis, LeavesIntegerMapsAlone) {
  Basis basis(3);
  ASSERT_TRUE(basis.RequireInteger(Poly({2, 3, 1}, 5)));
  basis.AddOutput(Poly({1}), 10);
  basis.AddOutput(Poly({0, 1}), 10);
  basis.AddReduced({0, 0, 1}, 4);
  EXPECT_THAT(Texts(basis.originals()), ElementsAre("i0", "i1", "i2"));
  EXPECT_THAT(Texts(basis.outputs()), ElementsAre("i0", "i1"));
  EXPECT_THAT(basis.ties(), IsEmpty());
  EXPECT_FALSE(basis.has_free_columns());
}

TEST(Basis, MakesASkewedOutputASingleColumn) {
  // O[x + 2*y - 1], y reduced: x = o - 2*y + 1.
  Basis basis(2);
  basis.AddOutput(Poly({1, 2}, -1), 10);
  ASSERT_TRUE(basis.TryReduced({0, 1}).has_value());
  EXPECT_EQ(basis.TryReduced({0, 1})->step, 1);
  basis.AddReduced({0, 1}, 3);
  EXPECT_THAT(Texts(basis.outputs()), ElementsAre("i0"));
  EXPECT_THAT(Texts(basis.originals()), ElementsAre("i0 - 2*i1 + 1", "i1"));
}

TEST(Basis, TakesDigitsWhereStridesSkip) {
  // The seed's 3*y + 2*j by j: y = -d + h - 2*v, j = 2*d + 3*v.
  Basis basis(2);
  basis.AddOutput(Poly({3, 2}), 9);
  auto fit = basis.TryReduced({0, 1});
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->step, 3);
  EXPECT_TRUE(fit->splits_output);
  basis.AddReduced({0, 1}, 2);
  EXPECT_FALSE(basis.overflow());
  EXPECT_THAT(Texts(basis.outputs()), ElementsAre("i0 + 3*i2"));
  EXPECT_THAT(Texts(basis.originals()), ElementsAre("-i0 - 2*i1 + i2", "2*i0 + 3*i1"));
  EXPECT_TRUE(basis.columns()[0].is_digit);
  EXPECT_EQ(basis.columns()[0].width, 3);
}

TEST(Basis, TiesTheElementsThatNothingReaches) {
  // O[2*i + 5]: odd elements only.
  Basis stride(1);
  stride.AddOutput(Poly({2}, 5), 9);
  EXPECT_THAT(Texts(stride.outputs()), ElementsAre("2*i0 + i1"));
  EXPECT_THAT(Texts(stride.ties()), ElementsAre("i1 - 1"));
  EXPECT_THAT(Texts(stride.originals()), ElementsAre("i0 - 2"));
  // O[i, 3*i + 1].
  Basis dependent(1);
  dependent.AddOutput(Poly({1}), 4);
  dependent.AddOutput(Poly({3}, 1), 12);
  EXPECT_THAT(Texts(dependent.outputs()), ElementsAre("i0", "i1"));
  EXPECT_THAT(Texts(dependent.ties()), ElementsAre("-3*i0 + i1 - 1"));
}

TEST(Basis, RestrictsToWhereFractionsAreIntegers) {
  // (2*a + b + 1) / 3 is an integer.
  Basis basis(2);
  ASSERT_TRUE(basis.RequireInteger(Poly({Rational(2, 3), Rational(1, 3)}, Rational(1, 3))));
  std::set<std::pair<int64_t, int64_t>> reached;
  for (int64_t p = -30; p <= 30; ++p) {
    for (int64_t q = -30; q <= 30; ++q) {
      int64_t a = basis.originals()[0].ToAffine().Evaluate({p, q}).numerator();
      int64_t b = basis.originals()[1].ToAffine().Evaluate({p, q}).numerator();
      EXPECT_EQ((2 * a + b + 1) % 3, 0);
      EXPECT_TRUE(reached.insert({a, b}).second);
    }
  }
  for (int64_t a = -4; a <= 4; ++a) {
    for (int64_t b = -4; b <= 4; ++b) {
      EXPECT_EQ(reached.count({a, b}), (2 * a + b + 1) % 3 == 0 ? 1u : 0u) << a << ", " << b;
    }
  }
}

TEST(Basis, KnowsWhenAnAccessIsNeverAnInteger) {
  EXPECT_FALSE(Basis(1).RequireInteger(Poly({}, Rational(1, 2))));
  EXPECT_FALSE(Basis(2).RequireInteger(Poly({Rational(2, 4), Rational(4, 4)}, Rational(1, 4))));
}

TEST(Basis, HasNothingForDependentDirections) {
  Basis basis(2);
  basis.AddOutput(Poly({1, 1}), 4);
  EXPECT_FALSE(basis.TryReduced({2, 2}).has_value());
  EXPECT_TRUE(basis.has_free_columns());
}

TEST(Basis, SaysWhenNumbersOverflow) {
  Basis basis(2);
  basis.AddOutput(Poly({int64_t{1} << 57, (int64_t{1} << 57) - 1}), 4);
  basis.AddReduced({(int64_t{1} << 57) - 5, int64_t{1} << 56}, 4);
  EXPECT_TRUE(basis.overflow());
}

}  // namespace
}  // namespace tartan::poly::basis_test
