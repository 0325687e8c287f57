// SPDX-License-Identifier: Apache-2.0
// Checks the analysis of random contractions against the enumerated definition. TARTAN_LONG_TESTS
// sets the number (default 600), TARTAN_TEST_SEED the first seed.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tile/poly/enumerate.h"
#include "tests/tile/poly/random_contraction.h"
#include "tile/poly/analysis/analyze_contraction.h"

namespace tartan::poly {
namespace {

TEST(AnalyzeContraction, VisitsExactlyTheValidPointsOfRandomContractions) {
  int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 600);
  uint64_t first = FromEnvironment("TARTAN_TEST_SEED", 20261121);
  int64_t compared = 0, unbounded = 0, skipped = 0, loose = 0, points = 0, empty = 0, needless = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    Problem problem = RandomContraction(seed, {1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 11}).Next();
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
