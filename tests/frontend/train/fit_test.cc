// SPDX-License-Identifier: Apache-2.0
// Tests of training runs on datasets whose sizes are not multiples of the batch size.
#include "frontend/train/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"
#include "tile/base/clock.h"

namespace tartan::train::fit_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::SizeIs;

constexpr int64_t kRows = 11;
constexpr double kRate = 0.25;

// The model y = h = x[batch, 3] w.
std::string Linear(const std::string& batch) {
  return absl::StrCat("graph { name: 'linear' ", ValueText("input", "x", 1, batch + " 3"),
                      " output { name: 'y' } ", InitializerText("w", {3, 1}, 7),
                      NodeText("MatMul", {"x", "w"}, {"h"}), NodeText("Identity", {"h"}, {"y"}),
                      "}");
}

// The same model on x[N, 1, 1, 3].
std::string Pictures() {
  return absl::StrCat("graph { name: 'linear' ", ValueText("input", "x", 1, "N 1 1 3"),
                      " output { name: 'y' } ", InitializerText("w", {3, 1}, 7),
                      NodeText("Flatten", {"x"}, {"f"}), NodeText("MatMul", {"f", "w"}, {"h"}),
                      NodeText("Identity", {"h"}, {"y"}), "}");
}

std::vector<float> X() { return Numbers(3 * kRows, 1); }
std::vector<float> T() { return Numbers(kRows, 2); }

class FitTest : public DeviceTest {
 protected:
  struct Outcome {
    FitResult result;
    std::vector<LogLine> lines;
    TrainerState state;
    double wall_ms = 0;
    double compile_ms = 0;
  };

  FitTest() {
    options_.batch = 4;
    options_.epochs = 2;
    options_.shuffle = false;
    options_.rate = kRate;
    options_.log_every = 1;
    trainer_.loss.kind = LossKind::kMse;
    trainer_.optimizer.kind = OptimizerKind::kSgd;
  }

  absl::StatusOr<Outcome> Run(int64_t stop_after = 0, const std::string& batch = "N",
                              const std::string& text = "") const {
    const auto model = LoadToTrain(text.empty() ? Linear(batch) : text);
    EXPECT_TRUE(model.ok()) << model.status();
    const auto dataset =
        data::DatasetOf("data", {{"x", Floats({kRows, 3}, X())}, {"y", Floats({kRows, 1}, T())}});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    const auto trainer = Trainer::Create(*model, device_, trainer_);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    Outcome outcome;
    int64_t steps = 0;
    FitHooks hooks;
    hooks.log = [&](const LogLine& line) { outcome.lines.push_back(line); };
    hooks.should_stop = [&] { return ++steps == stop_after; };
    const Clock::time_point start = Clock::now();
    auto result = Fit(**trainer, **model, *dataset, trainer_, options_, hooks);
    if (!result.ok()) return result.status();
    outcome.wall_ms = MillisecondsSince(start);
    outcome.compile_ms = (*trainer)->compile_ms();
    outcome.result = *std::move(result);
    auto state = (*trainer)->Save();
    if (!state.ok()) return state.status();
    outcome.state = *std::move(state);
    return outcome;
  }

  TrainerOptions trainer_;
  FitOptions options_;
};

// The mean square of each batch before its step, computed in the test. `sizes` are the sizes of the
// batches of an epoch.
std::vector<double> LossesByHand(const std::vector<int64_t>& sizes, int epochs) {
  const std::vector<float> x = X();
  const std::vector<float> t = T();
  const std::vector<float> first = Numbers(3, 7);
  std::vector<double> w(first.begin(), first.end());
  std::vector<double> losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    size_t row = 0;
    for (const int64_t size : sizes) {
      double loss = 0;
      std::vector<double> gradient(3, 0);
      for (int64_t i = 0; i < size; ++i, ++row) {
        double error = -t[row];
        for (size_t k = 0; k < 3; ++k) error += x[3 * row + k] * w[k];
        loss += error * error / static_cast<double>(size);
        for (size_t k = 0; k < 3; ++k)
          gradient[k] += 2 * error * x[3 * row + k] / static_cast<double>(size);
      }
      for (size_t k = 0; k < 3; ++k) w[k] -= kRate * gradient[k];
      losses.push_back(loss);
    }
  }
  return losses;
}

std::vector<double> LossesOf(const std::vector<LogLine>& lines) {
  std::vector<double> losses;
  for (const LogLine& line : lines) losses.push_back(line.loss);
  return losses;
}

TEST_F(FitTest, TheLastBatchOfAnEpochIsTrainedWithAMeanOfItsOwn) {
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->result.steps, 6);
  EXPECT_THAT(LossesOf(run->lines), Pointwise(DoubleNear(1e-5), LossesByHand({4, 4, 3}, 2)));
  EXPECT_EQ(run->lines[2].steps, 6);
  EXPECT_TRUE(run->lines[2].is_epoch_end);
  EXPECT_EQ(run->lines[3].epoch, 2);
}

TEST_F(FitTest, TheMeanOfAnEpochCountsExamples) {
  options_.log_every = 100;
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  const std::vector<double> by_hand = LossesByHand({4, 4, 3}, 2);
  // The first step has a separate line in the log.
  const std::vector<double> means = {
      by_hand[0], (4 * by_hand[1] + 3 * by_hand[2]) / 7,
      (4 * by_hand[3] + 4 * by_hand[4] + 3 * by_hand[5]) / static_cast<double>(kRows)};
  EXPECT_THAT(LossesOf(run->lines), Pointwise(DoubleNear(1e-5), means));
}

TEST_F(FitTest, ItIsLeftOutWhereThatIsAskedFor) {
  options_.drop_last = true;
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->result.steps, 4);
  const std::vector<double> losses = LossesOf(run->lines);
  ASSERT_THAT(losses, SizeIs(4));
  EXPECT_NEAR(losses[1], LossesByHand({4, 4}, 1)[1], 1e-5);
  EXPECT_TRUE(run->lines[1].is_epoch_end);
}

TEST_F(FitTest, ItIsLeftOutWhereBatchesMustBeAlike) {
  const auto fixed = Run(0, "4");
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_EQ(fixed->result.steps, 4);
  options_.validation = 5;
  const auto validated = Run(0, "4");
  EXPECT_TRUE(validated.ok()) << validated.status();
  options_.validation = 0;
  trainer_.accumulate = 2;
  const auto accumulated = Run();
  ASSERT_TRUE(accumulated.ok()) << accumulated.status();
  EXPECT_EQ(accumulated->result.steps, 2);
}

TEST_F(FitTest, FewerExamplesThanABatchAreOne) {
  options_.batch = 16;
  for (const bool drop_last : {false, true}) {
    options_.drop_last = drop_last;
    const auto run = Run();
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(LossesOf(run->lines), Pointwise(DoubleNear(1e-5), LossesByHand({11}, 2)));
  }
  EXPECT_THAT(Run(0, "16").status().message(), HasSubstr("11 examples do not fill a batch of 16"));
}

TEST_F(FitTest, ValidationSeesEveryExampleOnce) {
  options_.validation = 5;
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->result.steps, 4);  // batches of 4 and 2 examples, in two epochs
  EXPECT_EQ(run->lines.back().metrics.count("val_loss"), 1u);
}

TEST_F(FitTest, CompilingIsNoTimeOfAStep) {
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  double steps_ms = 0;
  for (const LogLine& line : run->lines) steps_ms += line.step_ms;
  EXPECT_GT(run->compile_ms, 0);
  EXPECT_LE(steps_ms + run->compile_ms, run->wall_ms);
}

TEST_F(FitTest, RunsGoOnBitForBitFromAnyStep) {
  trainer_.optimizer.kind = OptimizerKind::kAdamW;
  trainer_.mode.dropout_of = {{"h", 0.3}};
  options_.shuffle = true;
  const auto straight = Run();
  ASSERT_TRUE(straight.ok()) << straight.status();
  for (int64_t stop = 1; stop <= 5; ++stop) {
    SCOPED_TRACE(absl::StrCat("stopped after ", stop));
    const TemporaryDirectory folder;
    options_.checkpoint = folder.path();
    options_.resume = false;
    const auto first = Run(stop);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->result.steps, stop);
    options_.resume = true;
    const auto second = Run();
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(second->result.steps, 6);
    for (const auto& [name, value] : straight->state.tensors)
      EXPECT_EQ(second->state.tensors.at(name).bytes(), value.bytes()) << name;
  }
}

// Flips, moves and adds noise to x[N, 3], seen as pictures of one row.
TEST_F(FitTest, AugmentedRunsGoOnBitForBit) {
  trainer_.augment.list = *ParseAugmentations("flip,crop:padding=1,noise");
  trainer_.mode.dropout_of = {{"h", 0.3}};
  options_.shuffle = true;
  const auto straight = Run(0, "N", Pictures());
  ASSERT_TRUE(straight.ok()) << straight.status();
  const TemporaryDirectory folder;
  options_.checkpoint = folder.path();
  ASSERT_TRUE(Run(3, "N", Pictures()).ok());
  options_.resume = true;
  trainer_.augment.list.pop_back();
  EXPECT_THAT(Run(0, "N", Pictures()).status().message(), HasSubstr("the augmentation is"));
  trainer_.augment.list = *ParseAugmentations("flip,crop:padding=1,noise");
  const auto resumed = Run(0, "N", Pictures());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  for (const auto& [name, value] : straight->state.tensors)
    EXPECT_EQ(resumed->state.tensors.at(name).bytes(), value.bytes()) << name;
}

TEST_F(FitTest, ARunThatLeftOutTheLastBatchGoesOnAsSuch) {
  const TemporaryDirectory folder;
  options_.checkpoint = folder.path();
  options_.drop_last = true;
  ASSERT_TRUE(Run(1).ok());
  options_.resume = true;
  options_.drop_last = false;
  EXPECT_THAT(Run().status().message(),
              AllOf(HasSubstr("last 3 examples"), HasSubstr("--drop-last")));
  options_.drop_last = true;
  const auto resumed = Run();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->result.steps, 4);
}

TEST_F(FitTest, WhereBatchesAreFullTheRuleIsNotPartOfARun) {
  const TemporaryDirectory folder;
  options_.checkpoint = folder.path();
  options_.validation = 3;
  options_.drop_last = true;
  ASSERT_TRUE(Run(1).ok());
  options_.resume = true;
  options_.drop_last = false;
  const auto resumed = Run();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->result.steps, 4);
}

}  // namespace
}  // namespace tartan::train::fit_test
