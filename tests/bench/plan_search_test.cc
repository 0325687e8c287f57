// SPDX-License-Identifier: Apache-2.0
// Measurement of individual plans.
#include "bench/plan_search.h"

#include "frontend/bench/parse_problem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

using ::testing::HasSubstr;

TEST(SearchPlans, TriesTheChoiceFirstAndNoMoreThanAskedFor) {
  const auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  for (const char* spec : {"matmul:m33n17k29", "conv:n1c5h9w9k7r3s2p1"}) {
    const auto result = SearchPlans(*ParseProblem(spec), 6, **device);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GE(result->trials.size(), 1u);
    EXPECT_LE(result->trials.size(), 6u);
    EXPECT_GE(result->plans, static_cast<int64_t>(result->trials.size()));
    EXPECT_GT(result->best_ms, 0);
    EXPECT_LE(result->best_ms, result->chosen_ms);
    ASSERT_LT(result->best, static_cast<int>(result->trials.size()));
  }
}

TEST(PlanSearchTable, CountsChoicesThatAreNearTheBest) {
  PlanSearchResult good;
  good.spec = "good";
  good.plans = 7;
  good.planning_ms = 2.5;
  good.trials = {{"first", 1, 1.0}};
  good.chosen_ms = good.best_ms = 1;
  PlanSearchResult fair = good;
  fair.spec = "fair";
  fair.trials.push_back({"second", 2, 0.8});
  fair.best = 1;
  fair.chosen_ms = 1.25;
  PlanSearchResult nothing;
  const std::string table = PlanSearchTable({good, fair, nothing});
  EXPECT_THAT(table, HasSubstr("| `good` | 2.5 | 7 | 1 | 1 | 1 | 1.00 | 1 | first |\n"));
  EXPECT_THAT(table, HasSubstr("| `fair` | 2.5 | 7 | 2 | 1.25 | 1 | 1.25 | 2 | second |\n"));
  EXPECT_THAT(table, HasSubstr("within 15 % of the best on 1 of 2 problems (50 %), "
                               "within 35 % on 2 (100 %)"));
}

}  // namespace
}  // namespace tartan::bench
