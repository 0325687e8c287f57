// SPDX-License-Identifier: Apache-2.0
// Training on ranks that keep parts of the state, compared with training in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/train/checkpoint.h"
#include "frontend/train/ranks/gradient_arena.h"
#include "frontend/train/ranks/gradient_order.h"
#include "frontend/train/ranks/shard_layout.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/distributed/train_on_ranks.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::distributed::sharded_states_test {
namespace {

using testing::HasSubstr;
using train::OptimizerKind;
using train::Shard;

// Layers of 5, 100, 60 and 3: parameters that ranks divide.
std::string WideText() {
  return absl::StrCat(
      "graph { name: 'wide' ", onnx::ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      train::InitializerText("w1", {5, 100}, 1), train::InitializerText("b1", {100}, 2),
      train::InitializerText("w2", {100, 60}, 3), train::InitializerText("b2", {60}, 4),
      train::InitializerText("w3", {60, 3}, 5), train::InitializerText("b3", {3}, 6),
      onnx::NodeText("MatMul", {"x", "w1"}, {"a0"}), onnx::NodeText("Add", {"a0", "b1"}, {"a1"}),
      onnx::NodeText("Tanh", {"a1"}, {"a2"}), onnx::NodeText("MatMul", {"a2", "w2"}, {"c0"}),
      onnx::NodeText("Add", {"c0", "b2"}, {"c1"}), onnx::NodeText("Tanh", {"c1"}, {"c2"}),
      onnx::NodeText("MatMul", {"c2", "w3"}, {"d0"}), onnx::NodeText("Add", {"d0", "b3"}, {"y"}),
      "}");
}

// Layers of 5, 320, 320, 320, 320 and 3: three have more than 64 Ki elements.
std::string DeepAndWideText() {
  std::string text = absl::StrCat("graph { name: 'deep' ", onnx::ValueText("input", "x", 1, "N 5"),
                                  " output { name: 'y' } ");
  const std::vector<int64_t> widths = {5, 320, 320, 320, 320, 3};
  std::string from = "x";
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    std::vector<float> weights = train::Numbers(widths[i] * widths[i + 1], 11 + i);
    for (float& weight : weights) weight *= 0.1F;
    const std::string to = i + 2 < widths.size() ? absl::StrCat("h", i) : "y";
    absl::StrAppend(
        &text, train::InitializerText(absl::StrCat("w", i), {widths[i], widths[i + 1]}, weights),
        train::InitializerText(absl::StrCat("b", i), {widths[i + 1]}, 3),
        onnx::NodeText("MatMul", {from, absl::StrCat("w", i)}, {absl::StrCat("m", i)}),
        onnx::NodeText("Add", {absl::StrCat("m", i), absl::StrCat("b", i)},
                       {to == "y" ? to : absl::StrCat("a", i)}));
    if (to != "y") absl::StrAppend(&text, onnx::NodeText("Tanh", {absl::StrCat("a", i)}, {to}));
    from = to;
  }
  return text + "}";
}

// The second parameter is whether a device fails to make sub-buffers that partially overlap.
class Sharded : public TrainOnRanks, public testing::WithParamInterface<std::tuple<Shard, bool>> {
 protected:
  Sharded() {
    graph_ = WideText();
    trainer_.shard = Stage();
    fit_.rate = 0.002;
    if (KeepsPartsApart()) setenv("TARTAN_DISJOINT_VIEWS", "1", /*overwrite=*/1);
  }
  ~Sharded() override { unsetenv("TARTAN_DISJOINT_VIEWS"); }

  static Shard Stage() { return std::get<0>(GetParam()); }
  static bool KeepsPartsApart() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Stages, Sharded,
                         testing::Combine(testing::Values(Shard::kOptimizer, Shard::kGradients,
                                                          Shard::kParameters),
                                          testing::Bool()),
                         [](const auto& info) {
                           return absl::StrCat(train::Name(std::get<0>(info.param)),
                                               std::get<1>(info.param) ? "_apart" : "");
                         });

TEST_P(Sharded, TheDeviceRefusesSubBuffersThatPartiallyOverlap) {
  const auto opened = api::Device::Open();  // as each rank does
  ASSERT_TRUE(opened.ok()) << opened.status();
  const hal::DevicePtr& device = (*opened)->hal();
  ASSERT_EQ(device->info().sub_buffers_may_overlap, !KeepsPartsApart());
  const hal::BufferPtr whole = *device->Allocate(2048);
  const auto first = device->SubBuffer(whole, 0, 1024);
  EXPECT_TRUE(device->SubBuffer(whole, 0, 1024).ok());
  EXPECT_TRUE(device->SubBuffer(whole, 1024, 1024).ok());
  EXPECT_EQ(device->SubBuffer(whole, 512, 1024).ok(), !KeepsPartsApart());
  EXPECT_EQ(device->SubBuffer(whole, 512, 512).ok(), !KeepsPartsApart());
}

TEST_P(Sharded, LargeParametersShareMemory) {
  graph_ = DeepAndWideText();
  fit_.steps = 6;
  trainer_.bucket_bytes = 1 << 16;
  for (const int64_t ranks : {2, 4}) CompareWithOneProcess(ranks);
}

TEST_P(Sharded, AdamWHasTheCurveOfOneProcess) {
  for (const int64_t ranks : {2, 3, 4}) CompareWithOneProcess(ranks);
}

TEST_P(Sharded, SgdWithMomentumHasTheCurveOfOneProcess) {
  trainer_.optimizer.kind = OptimizerKind::kMomentum;
  trainer_.optimizer.decay = 0.01;
  fit_.rate = 0.01;
  CompareWithOneProcess(2);
}

TEST_P(Sharded, SgdHasNoStatesToKeep) {
  trainer_.optimizer.kind = OptimizerKind::kSgd;
  CompareWithOneProcess(2);
}

TEST_P(Sharded, ABucketForEachParameterHasTheSameCurve) {
  trainer_.bucket_bytes = 1;
  CompareWithOneProcess(3);
}

TEST_P(Sharded, ClipsTheNormOfTheGradientsOfAllRanks) {
  trainer_.clip_norm = 0.05;
  CompareWithOneProcess(3);
}

TEST_P(Sharded, AccumulatesGradientsWithUnequalParts) {
  trainer_.accumulate = 3;
  trainer_.bucket_bytes = 3000;
  fit_.batch = 10;  // parts of 3, 3 and 4
  fit_.steps = 40;
  CompareWithOneProcess(3);
}

TEST_P(Sharded, TheLastBatchMayBeSmallerThanTheNumberOfRanks) {
  rows_ = 50;  // the last batch of an epoch has two examples
  trainer_.bucket_bytes = 3000;
  CompareWithOneProcess(4);
}

TEST_P(Sharded, GroupsOfParametersKeepTheirFactors) {
  trainer_.rules.groups = {{"w.*", {2, 0.5}}};
  trainer_.optimizer.decay = 0.1;
  CompareWithOneProcess(3);
}

TEST_P(Sharded, TrainsInFloat16WithAScaledLoss) {
  trainer_.precision = train::Precision::kFloat16;
  trainer_.loss_scale.first = 1 << 24;  // overflows first
  fit_.steps = 20;
  const std::vector<Outcome> sharded = TrainOn(2);
  trainer_.shard = Shard::kNone;
  const std::vector<Outcome> whole = TrainOn(2);
  ASSERT_TRUE(sharded[0].status.ok() && whole[0].status.ok());
  EXPECT_GT(sharded[0].lines.back().left_out, 0);
  for (const Outcome& rank : sharded) {
    EXPECT_EQ(rank.losses(), whole[0].losses());
    EXPECT_EQ(rank.lines.back().loss_scale, whole[0].lines.back().loss_scale);
    for (const auto& [name, value] : whole[0].values)
      EXPECT_EQ(rank.values.at(name).ToDoubles(), value.ToDoubles()) << name;
  }
}

TEST_P(Sharded, ValidatesAndEndsWithTheBestParameters) {
  fit_.steps = 0;
  fit_.epochs = 6;
  fit_.rate = 0.03;
  fit_.validation = 13;
  fit_.patience = 2;
  CompareWithOneProcess(2, 1e-4);
}

TEST_P(Sharded, RefusesAnUpdateByNormsOfWholeParameters) {
  trainer_.optimizer.kind = OptimizerKind::kLamb;
  const auto model = train::LoadToTrain(graph_);
  ASSERT_TRUE(model.ok());
  trainer_.exchange = MakeGradientExchange(std::move(InProcessRanks(1)[0]));
  const auto status = train::Trainer::Create(*model, device_, trainer_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("lamb needs norms of whole parameters"));
}

TEST_P(Sharded, OneProcessHasNothingToShare) {
  const auto model = train::LoadToTrain(graph_);
  ASSERT_TRUE(model.ok());
  const auto status = train::Trainer::Create(*model, device_, trainer_).status();
  EXPECT_THAT(status.message(), HasSubstr("need several ranks"));
}

TEST_P(Sharded, CheckpointsResumeOnAnyNumberOfRanksWithAnotherStage) {
  const TemporaryDirectory folder;
  fit_.steps = 40;
  const Outcome whole = TrainAs(nullptr);
  fit_.checkpoint = absl::StrCat(folder.path(), "/run");
  fit_.steps = 10;
  ASSERT_TRUE(TrainOn(4)[0].status.ok());
  const auto stored = train::ReadCheckpoint(fit_.checkpoint + "/last.ckpt");
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->state.tensors.at("square/w2").shape().ToString(), "float32[100, 60]");
  fit_.resume = true;
  fit_.steps = 20;
  trainer_.shard = Shard::kNone;
  ASSERT_TRUE(TrainOn(2)[0].status.ok());
  fit_.steps = 30;
  trainer_.shard = Stage();
  ASSERT_TRUE(TrainOn(3)[0].status.ok());
  fit_.steps = 40;
  const Outcome last = TrainAs(nullptr);
  ASSERT_TRUE(last.status.ok()) << last.status;
  EXPECT_NEAR(last.lines.back().loss, whole.lines.back().loss, 1e-5 * whole.lines.back().loss);
}

TEST_P(Sharded, ResumedRunsAreBitForBitThoseInOneGo) {
  const TemporaryDirectory folder;
  fit_.steps = 30;
  const std::vector<Outcome> whole = TrainOn(3);
  fit_.checkpoint = absl::StrCat(folder.path(), "/run");
  fit_.steps = 17;
  ASSERT_TRUE(TrainOn(3)[0].status.ok());
  fit_.resume = true;
  fit_.steps = 30;
  for (const char* run : {"resumed", "has no step to make"}) {
    const std::vector<Outcome> resumed = TrainOn(3);
    ASSERT_TRUE(resumed[0].status.ok()) << resumed[0].status;
    for (const auto& [name, value] : whole[0].values)
      EXPECT_EQ(resumed[0].values.at(name).ToDoubles(), value.ToDoubles()) << run << " " << name;
  }
}

TEST_P(Sharded, EachRankKeepsItsPartOfTheState) {
  fit_.steps = 3;
  trainer_.bucket_bytes = 512;
  const int64_t part = 4 * (500 + 100 + 6000 + 60 + 180 + 3) / 4;
  trainer_.shard = Shard::kNone;
  const int64_t whole = TrainOn(4)[0].memory.state;
  trainer_.shard = Stage();
  for (const Outcome& rank : TrainOn(4)) {
    // Each parameter has two averages and a gradient. The ranks divide the averages, or all three.
    const bool all = Stage() >= Shard::kGradients;
    const int64_t transient = 4 * 6000 + 4 * 512 * 6;  // the largest bucket, and padding
    // A part of the gradients that is not within them.
    const int64_t apart = KeepsPartsApart() ? part : 0;
    EXPECT_LE(rank.memory.state,
              all ? 3 * part + transient : whole - 6 * part + transient / 4 + apart)
        << train::Composition(rank.memory);
  }
}

TEST(GradientOrder, FollowsTheNodesAndNotTheListOfInitializers) {
  const std::string graph = absl::StrCat(
      "graph { name: 'mixed' ", onnx::ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      train::InitializerText("last", {6, 3}, 1), train::InitializerText("first", {5, 4}, 2),
      train::InitializerText("bias", {4}, 3), train::InitializerText("middle", {4, 6}, 4),
      onnx::NodeText("MatMul", {"x", "first"}, {"a"}), onnx::NodeText("Add", {"a", "bias"}, {"b"}),
      onnx::NodeText("MatMul", {"b", "middle"}, {"c"}),
      onnx::NodeText("MatMul", {"c", "last"}, {"y"}), "}");
  const auto model = train::LoadToTrain(graph);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto parameters = train::FindParameters(**model, {});
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  std::vector<std::string> names;
  for (const train::Parameter* parameter : train::InOrderOfGradients(**model, *parameters))
    names.push_back(parameter->name);
  EXPECT_THAT(names, testing::ElementsAre("last", "middle", "bias", "first"));
}

TEST(ShardLayout, PartsOfARankAreAlignedAndCoverEachElementOnce) {
  const std::vector<int64_t> counts = {3, 700, 1, 4096, 129};
  for (const int64_t bucket : {1, 3000, 1 << 30}) {
    const train::ShardLayout layout = train::LayOutShards(counts, 3, 512, bucket);
    std::vector<std::vector<int>> owners(counts.size());
    for (size_t t = 0; t < counts.size(); ++t) owners[t].assign(counts[t], -1);
    for (int rank = 0; rank < 3; ++rank) {
      for (const auto& segment : layout.SegmentsOf(rank)) {
        EXPECT_EQ(segment.offset % 512, 0);
        const int64_t part = layout.buckets[segment.bucket].size / 3;
        EXPECT_GE(segment.offset, rank * part);
        EXPECT_LE(segment.offset + segment.count * 4, (rank + 1) * part);
        for (int64_t i = segment.first; i < segment.first + segment.count; ++i) {
          EXPECT_EQ(owners[segment.tensor][i], -1);
          owners[segment.tensor][i] = rank;
        }
      }
    }
    for (const auto& owner : owners) EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
  }
}

std::vector<train::BucketUse> UsesInTurn(const std::vector<int64_t>& bytes) {
  std::vector<train::BucketUse> uses;
  for (int64_t i = 0; i < std::ssize(bytes); ++i)
    uses.push_back({2 * i, 2 * i + 2, bytes[static_cast<size_t>(i)]});
  return uses;
}

TEST(GradientArena, BucketsInTurnNeedMemoryForTwo) {
  const train::ArenaPlan plan = train::PlanArena(UsesInTurn({512, 512, 512, 512, 512}));
  EXPECT_EQ(plan.places.bytes(), 1024);
  EXPECT_EQ(plan.places.slots[4], plan.places.slots[0]);
  EXPECT_THAT(plan.after[0], testing::IsEmpty());
  EXPECT_THAT(plan.after[1], testing::IsEmpty());
  EXPECT_THAT(plan.after[4], testing::ElementsAre(0, 2));
}

TEST(GradientArena, BucketsInUseAtOnceHaveMemoryOfTheirOwn) {
  std::vector<train::BucketUse> uses = UsesInTurn({512, 1024, 512, 512});
  uses[0].last = 8;  // the gradient of a tied weight is complete last
  const train::ArenaPlan plan = train::PlanArena(uses);
  // No reduction begins before the first bucket is complete.
  EXPECT_EQ(plan.places.bytes(), 2560);
  for (const auto& after : plan.after) EXPECT_THAT(after, testing::IsEmpty());
}

TEST(GradientArena, ALargeBucketIsPlacedBesideItsNeighbours) {
  const train::ArenaPlan plan = train::PlanArena(UsesInTurn({512, 4096, 512, 512}));
  EXPECT_EQ(plan.places.bytes(), 4608);
}

}  // namespace
}  // namespace tartan::distributed::sharded_states_test
