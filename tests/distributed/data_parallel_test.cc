// SPDX-License-Identifier: Apache-2.0
// Training on several ranks, which are threads here, compared with training in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/train/ranks/joined_sums.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/distributed/train_on_ranks.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::distributed {
namespace {

using testing::HasSubstr;
using DataParallel = TrainOnRanks;

TEST_F(DataParallel, TwoRanksHaveTheCurveOfOneProcess) { CompareWithOneProcess(2); }

TEST_F(DataParallel, AddsBucketsWhileTheBackwardPassGoesOn) {
  trainer_.bucket_bytes = 1;  // a bucket for each parameter
  CompareWithOneProcess(3);
}

// Each update needs the sum of the weights. A copy of it would follow the backward pass.
TEST_F(DataParallel, TheWeightOfABatchIsWrittenInPlace) {
  const auto placeholder = [](const char* name, DataType type, std::vector<int64_t> dims) {
    return api::Tensor::Placeholder(name, {type, std::move(dims)});
  };
  const api::Tensor joined = placeholder("joined", DataType::kFloat32, {train::kJoinedCount});
  const api::Tensor healthy = placeholder("healthy", DataType::kBool, {});
  const api::Tensor weight = placeholder("weight", DataType::kFloat32, {});
  const api::Tensor skipped = placeholder("skipped", DataType::kInt32, {});
  const auto next = train::NextJoined(joined, healthy, weight, skipped);
  ASSERT_TRUE(next.ok()) << next.status();
  const auto device = api::Device::Open();
  const auto program = api::DeviceProgram::Create(
      *device, {{healthy, weight, skipped}, {{joined, *next}}, {}, "joined"});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->StateUses()[0].steps.size(), 1);
  const auto state = api::DeviceTensor::FromHost(
      **device, HostTensor::FromVector<float>(joined.shape(), {2, 7, 7}));
  ASSERT_TRUE((*program)->Bind({*state}).ok());
  const auto run = [&](bool is_healthy, int skipped_steps) {
    EXPECT_TRUE((*program)
                    ->Start({HostTensor::FromVector<uint8_t>(healthy.shape(), {is_healthy}),
                             HostTensor::FromVector<float>(weight.shape(), {3}),
                             HostTensor::FromVector<int32_t>(skipped.shape(), {skipped_steps})})
                    .ok());
    return state->ToHost()->ToDoubles();
  };
  EXPECT_THAT(run(true, 0), testing::ElementsAre(5, 0, 0));
  EXPECT_THAT(run(false, 4), testing::ElementsAre(5, 1, 4));
}

TEST_F(DataParallel, FourRanksHaveTheCurveOfOneProcess) { CompareWithOneProcess(4); }

TEST_F(DataParallel, TheLastBatchMayBeSmallerThanTheNumberOfRanks) {
  rows_ = 50;  // the last batch of an epoch has two examples
  CompareWithOneProcess(4);
}

TEST_F(DataParallel, RanksWithPartsOfUnequalSizesAreWeighted) {
  fit_.batch = 10;  // parts of 3, 3 and 4
  CompareWithOneProcess(3);
}

TEST_F(DataParallel, IgnoredExamplesHaveNoWeight) {
  trainer_.loss.ignore_index = 2;
  CompareWithOneProcess(3);
}

TEST_F(DataParallel, AccumulatesGradientsOnEachRank) {
  trainer_.accumulate = 3;
  fit_.steps = 40;
  CompareWithOneProcess(2);
}

TEST_F(DataParallel, ClipsTheNormOfAllGradientsTogether) {
  trainer_.clip_norm = 0.05;
  CompareWithOneProcess(2);
}

TEST_F(DataParallel, ValidatesOnTheFirstRank) {
  fit_.steps = 0;
  fit_.epochs = 4;
  fit_.validation = 13;
  fit_.schedule.kind = train::ScheduleKind::kPlateau;
  const std::vector<Outcome> ranks = CompareWithOneProcess(2);
  EXPECT_GT(ranks[0].lines.back().metrics.count("val_loss"), 0);
}

TEST_F(DataParallel, TrainsInBFloat16) {
  trainer_.precision = train::Precision::kBFloat16;
  fit_.steps = 20;
  // Products of another number of examples round differently.
  CompareWithOneProcess(2, 2e-2);
}

TEST_F(DataParallel, ExchangesGradientsInBFloat16) {
  trainer_.gradient_type = DataType::kBFloat16;
  fit_.steps = 20;
  CompareWithOneProcess(2, 2e-2);
  trainer_.accumulate = 2;
  EXPECT_THAT(train::Trainer::Create(*train::LoadToTrain(graph_), *api::Device::Open(), trainer_)
                  .status()
                  .message(),
              HasSubstr("an update after each step"));
}

TEST_F(DataParallel, TrainsInFloat16WithAScaledLoss) {
  trainer_.precision = train::Precision::kFloat16;
  fit_.steps = 20;
  const std::vector<Outcome> ranks = CompareWithOneProcess(2, 2e-2);
  EXPECT_EQ(ranks[0].lines.back().loss_scale, ranks[1].lines.back().loss_scale);
}

TEST_F(DataParallel, AveragesRunningStatisticsOverTheRanks) {
  graph_ = absl::StrCat(
      "graph { name: 'normalised' ", onnx::ValueText("input", "x", 1, "N 5"),
      " output { name: 'y' } ", train::InitializerText("scale", {5}, {1, 1, 1, 1, 1}),
      train::InitializerText("shift", {5}, {0, 0, 0, 0, 0}),
      train::InitializerText("mean", {5}, {0, 0, 0, 0, 0}),
      train::InitializerText("variance", {5}, {1, 1, 1, 1, 1}),
      train::InitializerText("w", {5, 3}, 1),
      onnx::NodeText("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"n"}),
      onnx::NodeText("MatMul", {"n", "w"}, {"y"}), "}");
  trainer_.mode.batch_norm = true;
  fit_.steps = 20;
  const Outcome alone = TrainAs(nullptr);
  ASSERT_TRUE(alone.status.ok()) << alone.status;
  const std::vector<Outcome> ranks = TrainOn(3);
  for (const Outcome& rank : ranks) {
    ASSERT_TRUE(rank.status.ok()) << rank.status;
    for (const char* name : {"mean", "variance", "w"})
      EXPECT_EQ(rank.values.at(name).ToDoubles(), ranks[0].values.at(name).ToDoubles()) << name;
    // Parts of equal sizes: the mean of their means is the mean of the batch.
    EXPECT_THAT(rank.values.at("mean").ToDoubles(),
                testing::Pointwise(testing::DoubleNear(1e-6), alone.values.at("mean").ToDoubles()));
  }
}

TEST_F(DataParallel, RanksThatDifferAreRefusedByAll) {
  seed_of_rank_1_ = 7;
  for (const Outcome& rank : TrainOn(3)) {
    EXPECT_EQ(rank.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(rank.status.message(),
                HasSubstr("the ranks differ: rank 0 has the seed 0, rank 1"));
  }
}

TEST_F(DataParallel, RanksThatDifferInOneWeightAreRefusedByAll) {
  const auto graph = [](const std::vector<float>& weights) {
    return absl::StrCat("graph { name: 'linear' ", onnx::ValueText("input", "x", 1, "N 5"),
                        " output { name: 'y' } ", train::InitializerText("w", {5, 4000}, weights),
                        onnx::NodeText("MatMul", {"x", "w"}, {"y"}), "}");
  };
  std::vector<float> weights = train::Numbers(5 * 4000, 1);
  graph_ = graph(weights);
  weights.back() += 1;
  graph_of_rank_1_ = graph(weights);
  for (const Outcome& rank : TrainOn(2)) {
    EXPECT_EQ(rank.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(rank.status.message()),
                HasSubstr("rank 0 has the model's weights digest"));
  }
}

TEST_F(DataParallel, ABatchMustHaveAnExampleForEachRank) {
  fit_.batch = 3;
  for (const Outcome& rank : TrainOn(4))
    EXPECT_THAT(rank.status.message(), HasSubstr("a batch of 3 examples is too small for 4 ranks"));
}

TEST_F(DataParallel, CheckpointsResumeOnAnyNumberOfRanks) {
  const TemporaryDirectory folder;
  fit_.steps = 40;
  const Outcome whole = TrainAs(nullptr);
  fit_.checkpoint = absl::StrCat(folder.path(), "/run");
  fit_.steps = 10;
  ASSERT_TRUE(TrainOn(4)[0].status.ok());
  fit_.resume = true;
  fit_.steps = 25;
  ASSERT_TRUE(TrainOn(2)[0].status.ok());
  fit_.steps = 40;
  const Outcome last = TrainAs(nullptr);
  ASSERT_TRUE(last.status.ok()) << last.status;
  EXPECT_NEAR(last.lines.back().loss, whole.lines.back().loss, 1e-5 * whole.lines.back().loss);
}

}  // namespace
}  // namespace tartan::distributed
