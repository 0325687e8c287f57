// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tartan::plan_cluster {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAreArray;

StepSchedule ThreeReductions() {
  StepSchedule schedule;
  schedule.forward_s = 0.010;
  schedule.backward_s = 0.030;
  schedule.reductions = {{0.010, 0.004}, {0.020, 0.014}, {0.028, 0.003}};
  schedule.update_s = 0.002;
  return schedule;
}

double Mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

TEST(Simulator, EqualRanksTakeTheAnalyticTime) {
  const StepSchedule schedule = ThreeReductions();
  EXPECT_DOUBLE_EQ(schedule.step_s(), 0.010 + (0.020 + 0.014 + 0.003) + 0.002);
  for (const int64_t ranks : {1, 2, 1024}) {
    EXPECT_THAT(SimulateSteps(schedule, ranks, 5, {}, 1),
                Each(DoubleNear(schedule.step_s(), 1e-12)));
  }
}

TEST(Simulator, WithoutReductionsRanksRunAlone) {
  const StepSchedule schedule = {0.010, 0.030, {}, 0.002};
  EXPECT_THAT(SimulateSteps(schedule, 3, 4, {}, 1), Each(DoubleNear(0.042, 1e-12)));
}

TEST(Simulator, OneSlowRankSlowsEveryStep) {
  StragglerModel stragglers;
  stragglers.slow_share = 1.0 / 64;
  stragglers.slow_factor = 2;
  // The slow rank is ready at 0.020 + 2 (0.010, 0.020, 0.028).
  const double end = 0.020 + std::max(0.060, 0.056 + 0.003) + 0.004;
  const std::vector<double> times = SimulateSteps(ThreeReductions(), 64, 3, stragglers, 1);
  EXPECT_THAT(times, Each(DoubleNear(end, 1e-12)));
}

TEST(Simulator, MoreRanksWaitLongerForTheSlowest) {
  StragglerModel stragglers;
  stragglers.jitter = 0.05;
  double before = ThreeReductions().step_s();
  for (const int64_t ranks : {8, 64, 1024}) {
    const double mean = Mean(SimulateSteps(ThreeReductions(), ranks, 20, stragglers, 1));
    EXPECT_GT(mean, before) << ranks;
    before = mean;
  }
}

TEST(Simulator, RepeatsItselfForASeed) {
  StragglerModel stragglers;
  stragglers.jitter = 0.1;
  const auto times = SimulateSteps(ThreeReductions(), 16, 10, stragglers, 5);
  EXPECT_THAT(SimulateSteps(ThreeReductions(), 16, 10, stragglers, 5), ElementsAreArray(times));
  EXPECT_NE(SimulateSteps(ThreeReductions(), 16, 10, stragglers, 6), times);
}

TEST(Simulator, ARunWithoutFailuresWritesACheckpointBetweenIntervals) {
  const RunTime run = SimulateRun({1.0}, {0, 5, 60}, 10, 100, 1);
  EXPECT_DOUBLE_EQ(run.useful_s, 100);
  EXPECT_DOUBLE_EQ(run.checkpoints_s, 9 * 5) << "none at the end";
  EXPECT_EQ(run.failures, 0);
  EXPECT_DOUBLE_EQ(run.goodput(), 100.0 / 145);
}

TEST(Simulator, FailuresCostWhatDalyExpects) {
  for (const double mtbf : {1800.0, 4 * 3600.0}) {
    const FailureModel model = {mtbf, 30, 120};
    const double interval = DalyInterval(model);
    const RunTime run = SimulateRun({1.0}, model, interval, 2000 * mtbf, 7);
    EXPECT_GT(run.failures, 1500);
    EXPECT_NEAR(run.goodput() / ExpectedGoodput(model, std::ceil(interval)), 1, 0.02) << mtbf;
  }
}

}  // namespace
}  // namespace tartan::plan_cluster
