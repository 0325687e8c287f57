// Random contractions: the analysis against the enumerated definition. TARTAN_LONG_TESTS sets how
// many (default 600), TARTAN_TEST_SEED the first seed.
#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tile/poly/enumerate.h"

namespace tartan::poly {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Problem Next() {
    Problem problem;
    int count = static_cast<int>(Between(1, 6));
    fractions_ = Between(0, 5) == 0;
    for (int i = 0; i < count; ++i) {
      problem.contraction.index_names.push_back(absl::StrCat("x", i));
    }
    problem.contraction.output = NextAccess(count, Between(0, 3), problem.output_dims);
    int64_t inputs = Between(1, 3);
    for (int64_t i = 0; i < inputs; ++i) {
      problem.input_dims.emplace_back();
      problem.contraction.inputs.push_back(
          NextAccess(count, Between(1, 4), problem.input_dims.back()));
    }
    for (int64_t i = Between(-2, 2); i > 0; --i) {
      problem.contraction.constraints.push_back({NextPoly(count), NextSize()});
    }
    // Most indices that nothing bounds get a bound.
    for (int i = 0; i < count && !IsBounded(problem); ++i) {
      if (Between(0, 50) == 0) continue;
      problem.contraction.constraints.push_back({math::Affine::Variable(i), NextSize()});
    }
    return problem;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  int64_t NextSize() {
    static constexpr int64_t kSizes[] = {1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 11};
    return Between(0, 60) == 0 ? 0 : kSizes[Between(0, std::size(kSizes) - 1)];
  }

  math::Affine NextPoly(int count) {
    math::Affine poly = math::Affine::Constant(Between(0, 4) == 0 ? Between(-3, 3) : 0);
    int64_t form = Between(0, 9);
    if (form < 5) {
      poly.set_coefficient(static_cast<int>(Between(0, count - 1)), Between(0, 9) == 0 ? -1 : 1);
    } else if (form < 9) {
      for (int64_t terms = Between(1, 3); terms > 0; --terms) {
        poly.set_coefficient(static_cast<int>(Between(0, count - 1)), Between(-4, 4));
      }
    }
    if (fractions_ && Between(0, 2) == 0) poly = poly * math::Rational(1, Between(2, 3));
    return poly;
  }

  ir::Access NextAccess(int count, int64_t rank, std::vector<int64_t>& dims) {
    ir::Access access;
    for (int64_t i = 0; i < rank; ++i) {
      access.indices.push_back(NextPoly(count));
      dims.push_back(NextSize());
    }
    return access;
  }

  std::mt19937_64 random_;
  bool fractions_ = false;
};

TEST(AnalyzeContraction, VisitsExactlyTheValidPointsOfRandomContractions) {
  int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 600);
  uint64_t first = FromEnvironment("TARTAN_TEST_SEED", 20261121);
  int64_t compared = 0, unbounded = 0, skipped = 0, loose = 0, points = 0, empty = 0, needless = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    Problem problem = Generator(seed).Next();
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", problem.ToString()));
    auto space = AnalyzeContraction(problem.contraction, problem.output_dims, problem.input_dims);
    auto valid = ValidPoints(problem, 40, 20000);
    if (!IsBounded(problem)) {
      ++unbounded;
      if (space.ok()) {
        // Only the empty set needs no bounds.
        ASSERT_TRUE(valid.has_value());
        ASSERT_TRUE(valid->empty());
      } else {
        ASSERT_EQ(space.status().code(), absl::StatusCode::kInvalidArgument) << space.status();
      }
      continue;
    }
    ASSERT_TRUE(space.ok()) << space.status();
    if (!valid) {
      ++skipped;
      continue;
    }
    Comparison comparison = Compare(problem, *space, *valid, 1000000);
    ASSERT_EQ(comparison.error, "");
    comparison.complete ? ++compared : ++skipped;
    loose += comparison.loose_bounds;
    points += comparison.points;
    if (comparison.needlessly_empty) ++needless;
    if (comparison.points == 0) ++empty;
  }
  std::cout << compared << " compared (" << empty << " without points), " << points << " points, "
            << unbounded << " unbounded, " << skipped << " too large, " << loose
            << " loose bounds, " << needless << " needlessly held for maybe empty\n";
  EXPECT_EQ(loose, 0);
  EXPECT_EQ(needless, 0);
  EXPECT_GT(compared, count / 2);
}

}  // namespace
}  // namespace tartan::poly
