// SPDX-License-Identifier: Apache-2.0
// Batch normalization by the examples of all ranks, compared with one process on the whole batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/distributed/train_on_ranks.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::distributed {
namespace {

using onnx::NodeText;
using testing::HasSubstr;
using train::InitializerText;

// A normalisation of `input`, [N, 8], with parameters named after it.
std::string Normalized(const std::string& name, const std::string& input) {
  const std::vector<float> ones(8, 1);
  const std::vector<float> zeros(8, 0);
  const auto of = [&](const char* what) { return absl::StrCat(name, "_", what); };
  return absl::StrCat(
      InitializerText(of("scale"), {8}, ones), InitializerText(of("shift"), {8}, zeros),
      InitializerText(of("mean"), {8}, zeros), InitializerText(of("variance"), {8}, ones),
      NodeText("BatchNormalization", {input, of("scale"), of("shift"), of("mean"), of("variance")},
               {name}));
}

// Two layers of eight channels, each with a normalisation. `offset` is added before the first.
std::string TwoLayers(float offset = 0) {
  return absl::StrCat("graph { name: 'normalised' ", onnx::ValueText("input", "x", 1, "N 5"),
                      " output { name: 'y' } ", InitializerText("w1", {5, 8}, 1),
                      InitializerText("w2", {8, 8}, 2), InitializerText("w3", {8, 3}, 3),
                      InitializerText("offset", {8}, std::vector<float>(8, offset)),
                      NodeText("MatMul", {"x", "w1"}, {"h0"}),
                      NodeText("Add", {"h0", "offset"}, {"h1"}), Normalized("n1", "h1"),
                      NodeText("Relu", {"n1"}, {"r1"}), NodeText("MatMul", {"r1", "w2"}, {"h2"}),
                      Normalized("n2", "h2"), NodeText("Relu", {"n2"}, {"r2"}),
                      NodeText("MatMul", {"r2", "w3"}, {"y"}), "}");
}

// A layer whose normalised output is added to a normalised shortcut.
std::string Branches() {
  return absl::StrCat("graph { name: 'branches' ", onnx::ValueText("input", "x", 1, "N 5"),
                      " output { name: 'y' } ", InitializerText("w1", {5, 8}, 1),
                      InitializerText("w2", {8, 8}, 2), InitializerText("w3", {5, 8}, 3),
                      InitializerText("w4", {8, 3}, 4), NodeText("MatMul", {"x", "w1"}, {"h1"}),
                      Normalized("n1", "h1"), NodeText("Relu", {"n1"}, {"r1"}),
                      NodeText("MatMul", {"r1", "w2"}, {"h2"}), Normalized("n2", "h2"),
                      NodeText("MatMul", {"x", "w3"}, {"h3"}), Normalized("n3", "h3"),
                      NodeText("Add", {"n2", "n3"}, {"sum"}), NodeText("Relu", {"sum"}, {"r2"}),
                      NodeText("MatMul", {"r2", "w4"}, {"y"}), "}");
}

class JointStatistics : public TrainOnRanks {
 protected:
  JointStatistics() {
    graph_ = TwoLayers();
    trainer_.sync_batch_norm = true;
    trainer_.rules.frozen = "offset";  // its gradient is 0
    fit_.steps = 40;
  }
};

TEST_F(JointStatistics, TwoRanksHaveTheCurveOfOneProcess) { CompareWithOneProcess(2, 2e-5); }

TEST_F(JointStatistics, FourRanksHaveTheCurveOfOneProcess) { CompareWithOneProcess(4, 2e-5); }

TEST_F(JointStatistics, PartsOfUnequalSizesAreWeighted) {
  fit_.batch = 10;  // parts of 3, 3 and 4
  CompareWithOneProcess(3, 2e-5);
}

TEST_F(JointStatistics, RanksWithoutExamplesTakePart) {
  rows_ = 50;  // the last batch of an epoch has two examples
  CompareWithOneProcess(4, 2e-5);
}

TEST_F(JointStatistics, ParallelBranchesExchangeInOneOrder) {
  graph_ = Branches();
  rows_ = 50;
  CompareWithOneProcess(3, 2e-5);
}

TEST_F(JointStatistics, ALargeMeanCancelsNoDigits) {
  graph_ = TwoLayers(/*offset=*/1000);
  fit_.steps = 10;
  // The sum h0 + 1000 has an error of 3e-5 itself.
  CompareWithOneProcess(3, 1e-3);
}

TEST_F(JointStatistics, AccumulatesGradients) {
  trainer_.accumulate = 3;
  CompareWithOneProcess(2, 2e-5);
}

TEST_F(JointStatistics, TrainsInBFloat16) {
  trainer_.precision = train::Precision::kBFloat16;
  fit_.steps = 10;
  CompareWithOneProcess(2, 3e-2);
}

TEST_F(JointStatistics, TrainsInFloat16WithAScaledLoss) {
  trainer_.precision = train::Precision::kFloat16;
  fit_.steps = 10;
  CompareWithOneProcess(2, 3e-2);
}

TEST_F(JointStatistics, TheLossScaleIsThatOfOneProcess) {
  trainer_.precision = train::Precision::kFloat16;
  trainer_.accumulate = 2;
  fit_.batch = 20;  // parts of 6, 7 and 7
  fit_.steps = 10;
  const train::LogLine alone = TrainAs(nullptr).lines.back();
  EXPECT_EQ(alone.left_out, 0);
  for (const Outcome& rank : CompareWithOneProcess(3, 3e-2)) {
    EXPECT_EQ(rank.lines.back().left_out, 0);
    EXPECT_EQ(rank.lines.back().loss_scale, alone.loss_scale);
  }
}

TEST_F(JointStatistics, RanksKeepPartsOfTheOptimizer) {
  trainer_.shard = train::Shard::kOptimizer;
  CompareWithOneProcess(2, 2e-5);
}

TEST_F(JointStatistics, WithoutThemTheCurveDiffers) {
  const std::vector<Outcome> joint = TrainOn(2);
  trainer_.sync_batch_norm = false;
  trainer_.mode.batch_norm = true;
  const std::vector<Outcome> apart = TrainOn(2);
  ASSERT_TRUE(joint[0].status.ok() && apart[0].status.ok()) << joint[0].status;
  EXPECT_GT(std::abs(joint[0].lines.back().loss - apart[0].lines.back().loss), 1e-3);
}

TEST_F(JointStatistics, OptionsThatExchangeInAnotherOrderAreErrors) {
  const auto device = *api::Device::Open();
  const auto model = *train::LoadToTrain(graph_);
  trainer_.exchange = MakeGradientExchange(std::move(InProcessRanks(1)[0]));
  trainer_.shard = train::Shard::kGradients;
  EXPECT_THAT(train::Trainer::Create(model, device, trainer_).status().message(),
              HasSubstr("do not exist with shards of gradients"));
  trainer_.shard = train::Shard::kNone;
  trainer_.profile = true;
  EXPECT_THAT(train::Trainer::Create(model, device, trainer_).status().message(),
              HasSubstr("cannot be profiled"));
}

}  // namespace
}  // namespace tartan::distributed
