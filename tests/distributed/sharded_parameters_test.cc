// SPDX-License-Identifier: Apache-2.0
// Training on ranks that divide the parameters: memory, and the order in which they gather.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/train/ranks/gather_schedule.h"
#include "tests/distributed/train_on_ranks.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::distributed::sharded_parameters_test {
namespace {

using testing::ElementsAre;
using train::BucketUse;
using train::GatherNeeds;
using train::GatherOrder;
using train::Shard;

constexpr int64_t kWidth = 64;
constexpr int64_t kLayers = 20;
constexpr int64_t kLayerBytes = 4 * kWidth * (kWidth + 1);

// Layers of 64 with residuals, between layers of 5 to 64 and of 64 to 3.
std::string DeepText() {
  std::string text = absl::StrCat("graph { name: 'deep' ", onnx::ValueText("input", "x", 1, "N 5"),
                                  " output { name: 'y' } ");
  const auto add_layer = [&](const std::string& from, int64_t inputs, int64_t outputs,
                             const std::string& name) {
    std::vector<float> weights = train::Numbers(inputs * outputs, 7 + name.size() + outputs);
    for (float& weight : weights) weight *= 0.1F;
    absl::StrAppend(
        &text, train::InitializerText(absl::StrCat(name, ".w"), {inputs, outputs}, weights),
        train::InitializerText(absl::StrCat(name, ".b"), {outputs}, 3),
        onnx::NodeText("MatMul", {from, absl::StrCat(name, ".w")}, {absl::StrCat(name, ".m")}),
        onnx::NodeText("Add", {absl::StrCat(name, ".m"), absl::StrCat(name, ".b")},
                       {name == "last" ? "y" : absl::StrCat(name, ".a")}));
    if (name != "last") {
      absl::StrAppend(
          &text, onnx::NodeText("Tanh", {absl::StrCat(name, ".a")}, {absl::StrCat(name, ".o")}));
    }
  };
  add_layer("x", 5, kWidth, "first");
  std::string from = "first.o";
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string name = absl::StrCat("layer", layer);
    add_layer(from, kWidth, kWidth, name);
    const std::string sum = absl::StrCat(name, ".s");
    absl::StrAppend(&text, onnx::NodeText("Add", {absl::StrCat(name, ".o"), from}, {sum}));
    from = sum;
  }
  add_layer(from, kWidth, 3, "last");
  return text + "}";
}

class ShardedParameters : public TrainOnRanks {
 protected:
  ShardedParameters() {
    graph_ = DeepText();
    trainer_.shard = Shard::kParameters;
    trainer_.bucket_bytes = 4 * kWidth * kWidth;
    trainer_.optimizer.kind = train::OptimizerKind::kMomentum;
    fit_.rate = 0.0002;
    fit_.steps = 10;
  }
};

TEST_F(ShardedParameters, ARankHasItsPartAndAFewLayers) {
  for (const Outcome& rank : CompareWithOneProcess(4)) {
    EXPECT_LE(rank.memory.parameters, kLayers * kLayerBytes / 4 + 4 * kLayerBytes)
        << train::Composition(rank.memory);
  }
}

TEST_F(ShardedParameters, AFewLayersShareMemoryWithoutOverlappingSubBuffers) {
  setenv("TARTAN_DISJOINT_VIEWS", "1", /*overwrite=*/1);
  trainer_.bucket_bytes = 1;
  for (const Outcome& rank : CompareWithOneProcess(4)) {
    EXPECT_LE(rank.memory.parameters, kLayers * kLayerBytes / 4 + 8 * kLayerBytes)
        << train::Composition(rank.memory);
  }
  unsetenv("TARTAN_DISJOINT_VIEWS");
}

TEST_F(ShardedParameters, TrainsAModelOfMoreParametersThanADeviceHolds) {
  trainer_.optimizer.kind = train::OptimizerKind::kSgd;
  const Outcome alone = TrainAs(nullptr);
  ASSERT_TRUE(alone.status.ok()) << alone.status;
  trainer_.memory_budget = kLayers * kLayerBytes * 95 / 100;
  EXPECT_EQ(TrainAs(nullptr).status.code(), absl::StatusCode::kResourceExhausted);
  for (const Outcome& rank : TrainOn(4)) {
    ASSERT_TRUE(rank.status.ok()) << rank.status;
    EXPECT_LE(rank.memory.total(), trainer_.memory_budget);
    ASSERT_EQ(rank.lines.size(), alone.lines.size());
    for (size_t i = 0; i < rank.lines.size(); ++i)
      EXPECT_NEAR(rank.lines[i].loss, alone.lines[i].loss, 1e-5 * alone.lines[i].loss) << i;
  }
}

// Four layers of 512 bytes; bucket 0 is the last layer. A step of the forward pass for each, then
// one of the backward pass, with the gradients.
GatherNeeds NeedsOfFourLayers() {
  const std::vector<std::vector<int64_t>> steps = {{3, 4}, {2, 5}, {1, 6}, {0, 7}};
  const std::vector<BucketUse> gradients = {{4, 5, 512}, {5, 6, 512}, {6, 7, 512}, {7, 8, 512}};
  return train::NeedsOf(steps, {512, 512, 512, 512}, gradients);
}

std::vector<std::vector<int64_t>> Spans(const GatherNeeds& needs) {
  std::vector<std::vector<int64_t>> spans;
  for (const BucketUse& use : needs.uses) spans.push_back({use.first, use.last});
  return spans;
}

TEST(GatherSchedule, EachPassGathersALayerAndTheLastOneStays) {
  const GatherNeeds needs = NeedsOfFourLayers();
  EXPECT_THAT(Spans(needs), ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(2, 3),
                                        ElementsAre(3, 5), ElementsAre(0, 0), ElementsAre(5, 6),
                                        ElementsAre(6, 7), ElementsAre(7, 8)));
}

TEST(GatherSchedule, LayersInTurnNeedMemoryForTwo) {
  const GatherNeeds needs = NeedsOfFourLayers();
  const GatherOrder order = OrderOf(needs);
  const train::MemoryPlaces places = PlaceParameters(needs, order);
  EXPECT_EQ(places.bytes(), 1024);
  EXPECT_NE(places.slots[0], places.slots[1]);
}

TEST(GatherSchedule, AGatherBeginsWithTheUseOfTheLayerBeforeIt) {
  // The first numbers say which gathers are needed, the last how many begin before each sum.
  EXPECT_THAT(OrderOf(NeedsOfFourLayers()), ElementsAre(1, 1, 1, 1, 0, 1, 1, 1, 6, 7, 8, 8));
}

TEST(GatherSchedule, ARankTakesMoreMemoryIfAnotherOneAddsGradientsLate) {
  const GatherNeeds needs = NeedsOfFourLayers();
  GatherOrder order = OrderOf(needs);
  for (size_t i = 8; i < 12; ++i) order[i] = 8;  // all is gathered before the first sum
  // The last layer is done by then.
  EXPECT_EQ(PlaceParameters(needs, order).bytes(), 3 * 512);
}

TEST(GatherSchedule, ATiedWeightStaysSoThatOtherLayersComeLate) {
  // The first layer is also the head: steps 5 and 6.
  const std::vector<std::vector<int64_t>> steps = {{4, 7}, {3, 8}, {2, 9}, {1, 10}, {0, 5, 6, 11}};
  const std::vector<int64_t> bytes(5, 512);
  const std::vector<BucketUse> gradients = {
      {7, 8, 512}, {8, 9, 512}, {9, 10, 512}, {10, 11, 512}, {6, 12, 512}};
  const GatherNeeds needs = train::NeedsOf(steps, bytes, gradients);
  EXPECT_THAT(Spans(needs)[0], ElementsAre(0, 12));
  EXPECT_FALSE(needs.IsUsed(9));
  EXPECT_THAT(Spans(needs)[8], ElementsAre(10, 11));
  EXPECT_EQ(PlaceParameters(needs, OrderOf(needs)).bytes(), 3 * 512);
}

TEST(GatherSchedule, SmallParametersOfAllLayersStayWithATiedWeight) {
  const std::vector<std::vector<int64_t>> steps = {
      {4, 7}, {3, 8}, {2, 9}, {1, 10}, {0, 5, 6, 11}, {1, 2, 3, 4, 7, 8, 9, 10}};
  const std::vector<int64_t> bytes = {512, 512, 512, 512, 512, 8};
  const std::vector<BucketUse> gradients = {{7, 8, 512},   {8, 9, 512},  {9, 10, 512},
                                            {10, 11, 512}, {6, 12, 512}, {7, 12, 8}};
  const GatherNeeds needs = train::NeedsOf(steps, bytes, gradients);
  EXPECT_EQ(PlaceParameters(needs, OrderOf(needs)).bytes(), 3 * 512 + 8);
}

TEST(GatherSchedule, LayersThatAreRecomputedTogetherNeedMemoryForThree) {
  // The backward pass recomputes the layers of buckets 2 and 1 in steps 6 and 7.
  const std::vector<std::vector<int64_t>> steps = {{4, 5}, {3, 7, 8}, {2, 6, 9}, {1, 11}, {0, 12}};
  const std::vector<int64_t> bytes(5, 512);
  const std::vector<BucketUse> gradients = {
      {5, 6, 512}, {8, 9, 512}, {9, 10, 512}, {11, 12, 512}, {12, 13, 512}};
  const GatherNeeds needs = train::NeedsOf(steps, bytes, gradients);
  EXPECT_EQ(PlaceParameters(needs, OrderOf(needs)).bytes(), 3 * 512);
}

TEST(GatherSchedule, AProgramWithoutABackwardPassGathersOnce) {
  const GatherNeeds needs = train::NeedsOf({{4, 5}, {1, 3}}, {512, 512}, {});
  EXPECT_THAT(Spans(needs), ElementsAre(ElementsAre(1, 4), ElementsAre(4, 6), ElementsAre(0, 0),
                                        ElementsAre(0, 0)));
  EXPECT_THAT(OrderOf(needs), ElementsAre(1, 1, 0, 0));
}

}  // namespace
}  // namespace tartan::distributed::sharded_parameters_test
