// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/repayment.h"

#include "gtest/gtest.h"

namespace tartan::api {
namespace {

// The run, of `ms` each, after which exact kernels are compiled; 0 when none of 1000 runs triggers
// it.
int FirstRepaid(Repayment repayment, double ms) {
  for (int run = 1; run <= 1000; ++run) {
    if (repayment.AddRun(ms)) return run;
  }
  return 0;
}

TEST(Repayment, ComesWhenRunsHaveLostTheShareOfTheCost) {
  const ExactForecast forecast = {/*cost_ms=*/4000, /*saved_share=*/0.5};
  // Each run loses 20 ms, so 100 runs lose half of 4 s.
  EXPECT_EQ(FirstRepaid(Repayment({2, 0.5}, forecast), 40), 100);
  EXPECT_EQ(FirstRepaid(Repayment({2, 1.0}, forecast), 40), 200);
  EXPECT_EQ(FirstRepaid(Repayment({2, 0.5}, forecast), 1), 0);
}

TEST(Repayment, NeedsTheMinimumNumberOfRuns) {
  const ExactForecast forecast = {/*cost_ms=*/100, /*saved_share=*/0.5};
  EXPECT_EQ(FirstRepaid(Repayment({7, 0.5}, forecast), 1000), 7);
  EXPECT_EQ(FirstRepaid(Repayment({2, 0}, forecast), 0), 2) << "only the number of runs counts";
  EXPECT_EQ(FirstRepaid(Repayment({0, 0}, forecast), 1000), 0)
      << "exact kernels are never compiled";
}

TEST(Repayment, CostsLessWithMoreProcessorsAndNothingBesideAGpu) {
  EXPECT_DOUBLE_EQ(DelayOfRuns(1, true), 0.5);
  EXPECT_DOUBLE_EQ(DelayOfRuns(2, false), 0.5);
  EXPECT_DOUBLE_EQ(DelayOfRuns(16, true), 1.0 / 16);
  EXPECT_DOUBLE_EQ(DelayOfRuns(16, false), 0);
}

TEST(Repayment, ComesOnce) {
  Repayment repayment({1, 0}, {100, 0.5});
  EXPECT_TRUE(repayment.AddRun(1));
  EXPECT_FALSE(repayment.AddRun(1));
  EXPECT_DOUBLE_EQ(repayment.lost_ms(), 1);
}

}  // namespace
}  // namespace tartan::api
