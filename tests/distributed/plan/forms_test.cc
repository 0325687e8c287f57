// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tartan::plan_cluster {
namespace {

// Three layers whose gradients appear evenly over the backward pass.
TrainingProfile Layers() {
  TrainingProfile profile;
  profile.forward_s = 0.010;
  profile.backward_s = 0.030;
  profile.update_s = 0.004;
  profile.gradients = {{0.010, 40e6}, {0.020, 40e6}, {0.030, 40e6}};
  profile.parameter_bytes = 120e6;
  profile.gradient_bytes = 120e6;
  profile.state_bytes = 240e6;
  profile.activation_bytes = 500e6;
  profile.other_bytes = 10e6;
  profile.boundary_bytes = 1e6;
  profile.reduced_activation_bytes = 3e6;
  profile.examples = 8;
  return profile;
}

constexpr Link kFast = {1e-6, 400e9};
constexpr Link kSlow = {5e-6, 50e9};

Cluster Hosts(int64_t devices) { return {devices, 8, kFast, kSlow}; }

// Figure 1 of the ZeRO paper: 7.5 billion parameters in float16 (2 bytes), gradients (2 bytes), and
// 12 bytes of Adam's states, on 64 devices.
TEST(Forms, ModelStatesAreThoseOfTheZeroPaper) {
  TrainingProfile profile;
  profile.parameter_bytes = 2 * 7.5e9;
  profile.gradient_bytes = 2 * 7.5e9;
  profile.state_bytes = 12 * 7.5e9;
  EXPECT_NEAR(ModelStateBytes(Shard::kNothing, profile, 64), 120e9, 0.05e9);
  EXPECT_NEAR(ModelStateBytes(Shard::kOptimizer, profile, 64), 31.4e9, 0.05e9);
  EXPECT_NEAR(ModelStateBytes(Shard::kGradients, profile, 64), 16.6e9, 0.05e9);
  EXPECT_NEAR(ModelStateBytes(Shard::kParameters, profile, 64), 1.9e9, 0.05e9);
}

TEST(Forms, OneDeviceTakesTheProfiledStep) {
  const TrainingProfile profile = Layers();
  for (const Shard shard :
       {Shard::kNothing, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    const Prediction one = PredictData(profile, Hosts(1), shard, {});
    EXPECT_DOUBLE_EQ(one.step_s, profile.step_s());
    EXPECT_DOUBLE_EQ(one.efficiency, 1);
    EXPECT_DOUBLE_EQ(one.communication_s, 0);
    EXPECT_DOUBLE_EQ(one.memory_bytes, 990e6);
    EXPECT_DOUBLE_EQ(one.examples_per_s, 8 / profile.step_s());
  }
}

TEST(Forms, DataParallelismExposesWhatTheBackwardPassDoesNotHide) {
  const TrainingProfile profile = Layers();
  const Prediction made = PredictData(profile, Hosts(8), Shard::kNothing, {});
  const double last = RingAllReduce(8, 40e6, kFast);
  EXPECT_LT(last, 0.010) << "the first two reductions hide";
  EXPECT_NEAR(made.step_s, profile.step_s() + last, 1e-12);
  EXPECT_NEAR(made.exposed_s, last, 1e-12);
  EXPECT_NEAR(made.communication_s, 3 * last, 1e-12);
}

TEST(Forms, OneLargeBucketHidesNothing) {
  const TrainingProfile profile = Layers();
  PlanOptions options;
  options.bucket_bytes = 1e12;
  const Prediction made = PredictData(profile, Hosts(8), Shard::kNothing, options);
  EXPECT_NEAR(made.exposed_s, RingAllReduce(8, 120e6, kFast), 1e-12);
}

TEST(Forms, WithoutOverlapKernelsWaitForAllCommunication) {
  const TrainingProfile profile = Layers();
  PlanOptions options;
  options.overlaps = false;
  for (const Shard shard :
       {Shard::kNothing, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    const Prediction made = PredictData(profile, Hosts(8), shard, options);
    EXPECT_NEAR(made.exposed_s, made.communication_s, 1e-12);
    EXPECT_GT(made.step_s, PredictData(profile, Hosts(8), shard, {}).step_s);
  }
}

TEST(Forms, AShardedOptimizerUpdatesAPartAndGathersParameters) {
  const TrainingProfile profile = Layers();
  const Prediction made = PredictData(profile, Hosts(8), Shard::kOptimizer, {});
  const double half = RingReduceScatter(8, 40e6, kFast);
  EXPECT_NEAR(made.step_s, 0.040 + half + 0.004 / 8 + 3 * half, 1e-12);
  EXPECT_NEAR(made.communication_s, 6 * half, 1e-12);
}

TEST(Forms, ShardedParametersSendHalfAsMuchAgain) {
  const TrainingProfile profile = Layers();
  const double data = PredictData(profile, Hosts(8), Shard::kNothing, {}).communication_s;
  const double sharded = PredictData(profile, Hosts(8), Shard::kParameters, {}).communication_s;
  EXPECT_NEAR(sharded, 1.5 * data, 1e-12);
}

TEST(Forms, MemoryFallsFromFormToForm) {
  const TrainingProfile profile = Layers();
  PlanOptions options;
  options.bucket_bytes = 1e6;
  double before = 1e12;
  for (const Shard shard :
       {Shard::kNothing, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    const double bytes = PredictData(profile, Hosts(64), shard, options).memory_bytes;
    EXPECT_LT(bytes, before + 1);
    before = bytes;
  }
}

TEST(Forms, APipelineWaitsForItsBubble) {
  EXPECT_DOUBLE_EQ(PipelineBubble(4, 8), 3.0 / 11);
  EXPECT_DOUBLE_EQ(PipelineBubble(1, 8), 0);
  TrainingProfile profile = Layers();
  profile.boundary_bytes = 0;
  profile.gradient_bytes = 0;
  profile.update_s = 0;
  const Cluster instant = {4, 8, {0, 1e18}, {0, 1e18}};
  PlanOptions options;
  options.microbatches_per_stage = 2;
  const Prediction made = PredictPipeline(profile, instant, 4, options);
  EXPECT_EQ(made.form.microbatches, 8);
  EXPECT_NEAR(made.step_s, 0.040 * 11 / 8, 1e-12);
  EXPECT_NEAR(made.exposed_s / made.step_s, PipelineBubble(4, 8), 1e-12);
}

TEST(Forms, ATensorSplitReducesActivationsInBothPasses) {
  TrainingProfile profile = Layers();
  const Prediction made = PredictTensor(profile, Hosts(4), 4, {});
  const double pass = RingAllReduce(4, 4 * 3e6, kFast);
  EXPECT_NEAR(made.step_s, 0.040 + 0.001 + 2 * pass, 1e-12);
  EXPECT_NEAR(made.memory_bytes, 480e6 / 4 + 510e6, 1);
}

TEST(Forms, SplitsDivideTheDevices) {
  std::vector<std::string> names;
  for (const Prediction& made : PredictForms(Layers(), Hosts(12), {})) {
    names.push_back(made.form.Describe(12));
  }
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "data parallel", "optimizer sharded", "gradients sharded",
                         "parameters sharded", "tensor 2 x data 6", "tensor 4 x data 3",
                         "pipeline 2 (8 parts) x data 6", "pipeline 4 (16 parts) x data 3"));
}

}  // namespace
}  // namespace tartan::plan_cluster
