// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/step_kernels.h"

#include <gtest/gtest.h>

#include "distributed/plan/data_schedule.h"

namespace tartan::plan_cluster {
namespace {

// A step of two layers. The second layer's update runs before the first layer's gradient.
std::vector<StepKernel> Kernels() {
  return {{"k0_H", "H float32[8, 4], H_grad_T bool[8, 4]", 1, 8 * 2 * 12},
          {"k1_Y", "Y float32[8, 2]", 2, 8 * 2 * 8},
          {"k2_Loss_grad_1", "Loss_grad_1 float32[8, 2]", 3, 0},
          {"k3_W_2_K0", "W_2_K0 float32[4, 2], W_2_K1 float32[4, 2]", 10, 0},
          {"k4_H_grad", "H_grad float32[8, 4]; H_grad_B float32[3, 4]", 4, 0},
          {"k5_Sums", "Sums float32[4]; T1w_K0 float32[3, 4]", 20, 0}};
}

const std::vector<TrainedTensor> kTensors = {
    {"1w", {3, 4}, 48}, {"w.2", {4, 2}, 32}, {"b", {2}, 8}};

TEST(StepKernels, BelongToTheirPass) {
  const TrainingProfile profile = ProfileStep(Kernels(), kTensors, 45);
  EXPECT_EQ(profile.forward_s, 3);
  EXPECT_EQ(profile.backward_s, 7);
  EXPECT_EQ(profile.update_s, 30);
  EXPECT_EQ(profile.host_s, 5);
  EXPECT_EQ(profile.step_s(), 45);
}

TEST(StepKernels, GradientsAreReadyBeforeTheirUpdate) {
  const TrainingProfile profile = ProfileStep(Kernels(), kTensors, 45);
  ASSERT_EQ(profile.gradients.size(), 3);
  EXPECT_EQ(profile.gradients[0].ready_s, 3);
  EXPECT_EQ(profile.gradients[0].bytes, 32);
  EXPECT_EQ(profile.gradients[1].ready_s, 7);
  EXPECT_EQ(profile.gradients[1].bytes, 48);
  EXPECT_EQ(profile.gradients[2].ready_s, 7) << "no kernel stores it";
  EXPECT_EQ(profile.gradients[2].bytes, 8);
}

TEST(StepKernels, ThatComputeAndApplyAGradientBelongToTheBackwardPass) {
  std::vector<StepKernel> kernels = Kernels();
  kernels[5].name = "k5_H_grad_B_grad";
  const TrainingProfile profile = ProfileStep(kernels, kTensors, 45);
  EXPECT_EQ(profile.backward_s, 27);
  EXPECT_EQ(profile.update_s, 10);
  EXPECT_EQ(profile.gradients[1].ready_s, 27);
}

TEST(StepKernels, OfARankCompleteGradientsAndUpdateSpans) {
  const std::vector<StepKernel> kernels = {
      {"k0_H", "H float32[8, 4]", 1, 0},
      {"k1_H_grad_W_grad", "W_2_sum float32[4, 2]", 2, 0},
      {"k2_H_grad", "H_grad float32[8, 4]", 4, 0},
      {"k3_T1w_sum", "Sums float32[4]; T1w_sum float32[3, 4]", 8, 0},
      {"k4_Span0", "Span0_K0 float32[20]", 16, 0}};
  const TrainingProfile profile = ProfileStep(kernels, kTensors, 31);
  EXPECT_EQ(profile.forward_s, 1);
  EXPECT_EQ(profile.backward_s, 14);
  EXPECT_EQ(profile.update_s, 16);
  EXPECT_EQ(profile.gradients[0].ready_s, 2);
  EXPECT_EQ(profile.gradients[0].bytes, 32);
  EXPECT_EQ(profile.gradients[1].ready_s, 14);
}

TEST(StepKernels, AreScaledToTheStepIfTheyTakeLonger) {
  const TrainingProfile profile = ProfileStep(Kernels(), kTensors, 20);
  EXPECT_EQ(profile.forward_s, 1.5);
  EXPECT_EQ(profile.host_s, 0);
  EXPECT_EQ(profile.gradients[0].ready_s, 1.5);
  EXPECT_EQ(profile.step_s(), 20);
}

TEST(StepKernels, GiveTheRowsOfActivations) {
  const TrainingProfile profile = ProfileStep(Kernels(), kTensors, 45);
  // 8 rows, matrices of 3 and 2 columns in the narrow direction.
  EXPECT_DOUBLE_EQ(profile.boundary_bytes, 8 * 2.5 * 4);
  EXPECT_DOUBLE_EQ(profile.reduced_activation_bytes, 8 * 2.5 * 4);
}

TEST(DataSchedule, TakesThePredictedStep) {
  TrainingProfile profile = ProfileStep(Kernels(), kTensors, 45);
  const Cluster cluster = {16, 8, {0.1, 100}, {0.2, 10}};
  PlanOptions options;
  options.bucket_bytes = 40;
  const Prediction predicted = PredictData(profile, cluster, Shard::kNothing, options);
  const StepSchedule schedule = ScheduleData(profile, cluster, options);
  EXPECT_EQ(schedule.reductions.size(), 2);
  EXPECT_DOUBLE_EQ(schedule.step_s(), predicted.step_s);
  EXPECT_NEAR(SimulateSteps(schedule, 16, 2, {}, 1)[1], predicted.step_s, 1e-9);
}

}  // namespace
}  // namespace tartan::plan_cluster
