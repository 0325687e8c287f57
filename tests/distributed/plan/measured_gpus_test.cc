// SPDX-License-Identifier: Apache-2.0
// Predictions beside measurements of two H200 of one host with NCCL (distributed/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "distributed/plan/forms.h"

namespace tartan::plan_cluster {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kTolerance = 0.15;

// All-reduces of 4 and 256 MiB took 0.051 and 0.926 ms. They differ by 252 MiB at the bandwidth of
// the link, and each takes two latencies.
constexpr double kBandwidth = 252 * kMiB / (0.926e-3 - 0.051e-3);
constexpr Link kNvLink = {(0.051e-3 - 4 * kMiB / kBandwidth) / 2, kBandwidth};
constexpr Cluster kTwoDevices = {2, 8, kNvLink, kNvLink};

double AllReduceOf(double mib) { return AllReduce(kTwoDevices.GroupOf(2, 1), mib * kMiB).seconds; }

// A step of `kernels_s`, most of which is the backward pass, with gradients in `buffers` of 256 MiB
// at most.
TrainingProfile StepOf(double kernels_s, double gradient_mib, int buffers) {
  TrainingProfile profile;
  profile.forward_s = kernels_s / 3;
  profile.backward_s = kernels_s - profile.forward_s;
  for (int b = 1; b <= buffers; ++b)
    profile.gradients.push_back({profile.backward_s * b / buffers, gradient_mib * kMiB / buffers});
  profile.examples = 8;
  return profile;
}

double PredictedMs(const TrainingProfile& profile, bool overlaps) {
  PlanOptions options;
  options.overlaps = overlaps;
  options.bucket_bytes = 1;  // buffers are buckets
  return 1000 * PredictData(profile, kTwoDevices, Shard::kNothing, options).step_s;
}

TEST(MeasuredGpus, TheLinkGivesOtherReductions) {
  EXPECT_NEAR(AllReduceOf(475), 1.623e-3, kTolerance * 1.623e-3);
  EXPECT_NEAR(AllReduceOf(207), 0.78e-3, kTolerance * 0.78e-3);
}

// GPT of 124 M parameters. Kernels of a rank, whose optimizer is not fused, take 11.1 ms.
TEST(MeasuredGpus, AGptStepIsThatOfARankAndAllReductions) {
  EXPECT_NEAR(PredictedMs(StepOf(11.1e-3, 620, 3), false), 13.51, kTolerance * 13.51);
  EXPECT_NEAR(PredictedMs(StepOf(11.1e-3, 310, 3), false), 12.15, kTolerance * 12.15);
}

// ResNet-50. A rank alone takes 17.7 ms.
TEST(MeasuredGpus, AResNetStepIsThatOfARankAndAllReductions) {
  EXPECT_NEAR(PredictedMs(StepOf(17.7e-3, 97.5, 1), false), 19.42, kTolerance * 19.42);
}

// Neither the step of one device, which fuses the optimizer, nor overlap gives the measured time.
TEST(MeasuredGpus, AFusedStepWithOverlapIsTooShort) {
  EXPECT_LT(PredictedMs(StepOf(9.38e-3, 620, 3), true), (1 - kTolerance) * 13.51);
}

}  // namespace
}  // namespace tartan::plan_cluster
