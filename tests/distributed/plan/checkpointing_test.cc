// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/checkpointing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tartan::plan_cluster {
namespace {

// The interval with the maximum expected goodput, by search.
double BestInterval(const FailureModel& model) {
  double best = 1;
  for (double interval = 1; interval < 10 * model.mtbf_s; interval *= 1.0005) {
    if (ExpectedGoodput(model, interval) > ExpectedGoodput(model, best)) best = interval;
  }
  return best;
}

TEST(Checkpointing, YoungsIntervalIsTheRootOfItsFormula) {
  EXPECT_DOUBLE_EQ(YoungInterval({7200, 100, 0}), 1200);
}

TEST(Checkpointing, DalysIntervalIsTheOptimumOfTheExpectedTime) {
  for (const double checkpoint : {1.0, 30.0, 600.0}) {
    for (const double mtbf : {6 * 3600.0, 30 * 86400.0}) {
      const FailureModel model = {mtbf, checkpoint, 60};
      EXPECT_NEAR(DalyInterval(model) / BestInterval(model), 1, 0.002) << checkpoint << " " << mtbf;
      EXPECT_GE(ExpectedGoodput(model, DalyInterval(model)),
                ExpectedGoodput(model, YoungInterval(model)));
    }
  }
}

TEST(Checkpointing, SlowCheckpointsAreWrittenOncePerFailure) {
  EXPECT_DOUBLE_EQ(DalyInterval({100, 250, 0}), 100);
}

TEST(Checkpointing, WithoutFailuresOnlyCheckpointsCost) {
  EXPECT_DOUBLE_EQ(ExpectedGoodput({0, 10, 60}, 90), 0.9);
  EXPECT_NEAR(ExpectedGoodput({1e12, 10, 60}, 90), 0.9, 1e-6);
}

}  // namespace
}  // namespace tartan::plan_cluster
