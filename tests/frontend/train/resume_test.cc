// SPDX-License-Identifier: Apache-2.0
// Tests of resumed training runs: what must be the same, what may change, and what a stopped run
// leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "frontend/train/fit.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::resume_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int64_t kRows = 12;

// y = activation(x[N, 3] w) v; the values of v are frozen in some tests.
std::string Network(const std::string& activation) {
  return absl::StrCat("graph { name: 'small' ", ValueText("input", "x", 1, "N 3"),
                      " output { name: 'y' } ", InitializerText("w", {3, 4}, 7),
                      InitializerText("v", {4, 1}, 8), NodeText("MatMul", {"x", "w"}, {"h"}),
                      NodeText(activation, {"h"}, {"a"}), NodeText("MatMul", {"a", "v"}, {"y"}),
                      "}");
}

struct Outcome {
  FitResult result;
  std::vector<LogLine> lines;
  TrainerState state;
  std::vector<std::string> notes;
};

class ResumeTest : public DeviceTest {
 protected:
  ResumeTest() : x_(Numbers(3 * kRows, 1)), t_(Numbers(kRows, 2)) {
    options_.batch = 3;
    options_.epochs = 4;
    options_.rate = 0.1;
    options_.log_every = 1;
    options_.checkpoint = folder_.path();
    trainer_.loss.kind = LossKind::kHuber;
  }

  absl::StatusOr<Outcome> Run(int64_t stop_after = 0) {
    const auto model = LoadToTrain(Network(activation_));
    EXPECT_TRUE(model.ok()) << model.status();
    const auto dataset =
        data::DatasetOf("data", {{"x", Floats({kRows, 3}, x_)}, {"y", Floats({kRows, 1}, t_)}});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    const auto trainer = Trainer::Create(*model, device_, trainer_);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    Outcome outcome;
    int64_t batches = 0;
    FitHooks hooks;
    hooks.log = [&](const LogLine& line) { outcome.lines.push_back(line); };
    hooks.should_stop = [&] { return ++batches == stop_after; };
    hooks.note = [&](const std::string& note) { outcome.notes.push_back(note); };
    hooks.file_error = [&](const absl::Status& status) {
      return absl::DataLossError(absl::StrCat("of a file: ", status.message()));
    };
    auto result = Fit(**trainer, **model, *dataset, trainer_, options_, hooks);
    if (!result.ok()) return result.status();
    outcome.result = *std::move(result);
    auto state = (*trainer)->Save();
    if (!state.ok()) return state.status();
    outcome.state = *std::move(state);
    return outcome;
  }

  void ExpectSame(const TrainerState& state, const TrainerState& other) {
    EXPECT_EQ(state.step, other.step);
    for (const auto& [name, value] : other.tensors)
      EXPECT_EQ(state.tensors.at(name).bytes(), value.bytes()) << name;
  }

  std::string activation_ = "Tanh";
  std::vector<float> x_;
  std::vector<float> t_;
  TrainerOptions trainer_;
  FitOptions options_;
  const TemporaryDirectory folder_;
};

TEST_F(ResumeTest, NamesWhatDiffersWithBothValues) {
  trainer_.rules.frozen = "v";
  ASSERT_TRUE(Run(1).ok());
  options_.resume = true;
  struct Case {
    std::function<void()> change;
    std::vector<std::string> message;
  };
  const auto original = std::make_tuple(activation_, x_, trainer_, options_);
  const std::vector<Case> cases = {
      {[&] { trainer_.loss.delta = 2; },
       {"the loss is 'huber delta=2', in the checkpoint it is 'huber'"}},
      {[&] { trainer_.loss.kind = LossKind::kMse; }, {"the loss is 'mse'", "'huber'"}},
      {[&] { trainer_.optimizer.kind = OptimizerKind::kSgd; },
       {"the optimizer is 'sgd', in the checkpoint it is 'adamw'"}},
      {[&] { options_.schedule = *ParseSchedule("step:every=5,factor=0.5"); },
       {"the schedule is 'step:warmup=0,every=5,factor=0.5'", "'constant:warmup=0'"}},
      {[&] { options_.schedule = *ParseSchedule("cosine"); },
       {"'cosine:warmup=0,end=0 over 4 epochs'"}},
      {[&] { options_.seed = 3; }, {"the seed is '3', in the checkpoint"}},
      {[&] { x_[3 * kRows - 1] += 1; }, {"the data is '12 examples of ", "digest"}},
      {[&] { activation_ = "Relu"; }, {"the model's graph is 'digest "}},
      {[&] { trainer_.rules.frozen = ""; },
       {"parameter v is 'float32[4, 1] trained', in the checkpoint it is 'float32[4, 1] frozen"}},
      {[&] { options_.validation = 2; }, {"validation is '2'", "'0'"}},
      {[&] { trainer_.accumulate = 2; }, {"accumulated batches is '2'", "'1'"}},
  };
  for (const Case& row : cases) {
    row.change();
    const absl::Status status = Run().status();
    EXPECT_THAT(status.message(), AllOf(HasSubstr("of a file: "), HasSubstr("last.ckpt")));
    for (const std::string& text : row.message) EXPECT_THAT(status.message(), HasSubstr(text));
    std::tie(activation_, x_, trainer_, options_) = original;
  }
  const auto resumed = Run();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->result.steps, 16);
}

TEST_F(ResumeTest, TellsOfARateThatChanged) {
  ASSERT_TRUE(Run(1).ok());
  options_.resume = true;
  options_.rate = 0.05;
  const auto resumed = Run();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_THAT(resumed->notes,
              Contains(HasSubstr("the rate is '0.05', in the checkpoint it is '0.1'")));
}

TEST_F(ResumeTest, ContinuesInBatchesOfAnotherSize) {
  options_.schedule = *ParseSchedule("linear");
  ASSERT_TRUE(Run(6).ok());  // one epoch of four batches, and two
  options_.resume = true;
  options_.batch = 2;
  const auto resumed = Run();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_THAT(resumed->notes, Contains(HasSubstr("the batch is '2', in the checkpoint it is '3'")));
  // Three of six batches of the second epoch, and two epochs of six, follow the six steps.
  EXPECT_EQ(resumed->result.steps, 6 + 3 + 12);
  ASSERT_THAT(resumed->lines, testing::SizeIs(15));
  EXPECT_EQ(resumed->lines[0].epoch, 2);
  EXPECT_EQ(resumed->lines[0].steps, 21);
  EXPECT_THAT(resumed->lines[0].rate, DoubleNear(0.1 * (1 - 9.0 / 24), 1e-12));
  EXPECT_THAT(resumed->lines[14].rate, DoubleNear(0.1 * (1 - 23.0 / 24), 1e-12));
}

TEST_F(ResumeTest, ResumesBetweenAccumulatedBatches) {
  trainer_.accumulate = 3;
  options_.checkpoint = "";
  const auto straight = Run();
  ASSERT_TRUE(straight.ok()) << straight.status();
  EXPECT_EQ(straight->result.steps, 5);  // 16 batches
  for (int64_t stop = 1; stop <= 14; ++stop) {
    SCOPED_TRACE(absl::StrCat("stopped after batch ", stop));
    const TemporaryDirectory folder;
    options_.checkpoint = folder.path();
    options_.resume = false;
    ASSERT_TRUE(Run(stop).ok());
    options_.resume = true;
    const auto resumed = Run();
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ExpectSame(resumed->state, straight->state);
  }
}

TEST_F(ResumeTest, ALineIsAnUpdateNotABatch) {
  trainer_.accumulate = 2;
  options_.checkpoint = "";
  options_.log_every = 3;
  options_.steps = 7;
  const auto run = Run();
  ASSERT_TRUE(run.ok()) << run.status();
  std::vector<int64_t> steps;
  for (const LogLine& line : run->lines) {
    steps.push_back(line.step);
    EXPECT_EQ(line.epochs, 4);  // 14 batches, four per epoch
    EXPECT_EQ(line.epoch, (line.step * 2 + 3) / 4);
  }
  // The first update, ends of epochs, and three updates later.
  EXPECT_THAT(steps, ElementsAre(1, 2, 4, 6, 7));
}

// Losses of updates are means over their batches, although the sums are read more often.
TEST_F(ResumeTest, TheLossOfALineCountsAllBatchesOfItsUpdates) {
  options_.checkpoint = "";
  trainer_.optimizer.kind = OptimizerKind::kSgd;
  options_.rate = 0;
  options_.shuffle = false;
  options_.epochs = 1;
  const auto each = Run();
  ASSERT_TRUE(each.ok()) << each.status();
  trainer_.accumulate = 4;
  const auto once = Run();
  ASSERT_TRUE(once.ok()) << once.status();
  double mean = 0;
  for (const LogLine& line : each->lines) mean += line.loss / 4;
  ASSERT_THAT(once->lines, testing::SizeIs(1));
  EXPECT_NEAR(once->lines[0].loss, mean, 1e-6);
}

TEST_F(ResumeTest, ARunThatFailsInItsFirstStepLeavesNoCheckpoint) {
  options_.target = "";
  trainer_.loss.kind = LossKind::kCosine;
  trainer_.output = "nothing";
  EXPECT_FALSE(Run().ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/last.ckpt"));
  trainer_.output = "";
  trainer_.loss.kind = LossKind::kMse;
  EXPECT_TRUE(Run().ok());
}

TEST_F(ResumeTest, EarlyStoppingNeedsValidationAndSurvivesAStop) {
  options_.patience = 2;
  EXPECT_THAT(Run().status().message(), HasSubstr("needs validation data"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/last.ckpt"));
  // With this rate the loss grows from the second epoch on.
  options_.validation = 3;
  options_.rate = 30;
  options_.epochs = 9;
  trainer_.optimizer.kind = OptimizerKind::kSgd;
  trainer_.loss.kind = LossKind::kMse;
  activation_ = "Sigmoid";
  options_.checkpoint = "";
  const auto straight = Run();
  ASSERT_TRUE(straight.ok()) << straight.status();
  ASSERT_TRUE(straight->result.ended_early);
  ASSERT_TRUE(straight->result.is_best);
  for (int64_t stop = 1; stop <= straight->result.steps; ++stop) {
    SCOPED_TRACE(absl::StrCat("stopped after batch ", stop));
    const TemporaryDirectory folder;
    options_.checkpoint = folder.path();
    options_.resume = false;
    ASSERT_TRUE(Run(stop).ok());
    options_.resume = true;
    const auto resumed = Run();
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_TRUE(resumed->result.ended_early);
    ExpectSame(resumed->state, straight->state);
  }
}

// The rate of this run is reduced at several epochs.
TEST_F(ResumeTest, APlateauScheduleSurvivesAStop) {
  options_.schedule = *ParseSchedule("plateau:factor=0.5,patience=0");
  EXPECT_THAT(Run().status().message(), HasSubstr("needs validation data"));
  options_.validation = 3;
  options_.rate = 2;
  options_.epochs = 6;
  trainer_.optimizer.kind = OptimizerKind::kSgd;
  options_.checkpoint = "";
  const auto straight = Run();
  ASSERT_TRUE(straight.ok()) << straight.status();
  EXPECT_EQ(straight->lines.front().rate, 2);
  EXPECT_LE(straight->lines.back().rate, 1);
  for (int64_t stop = 1; stop < straight->result.steps; stop += 2) {
    SCOPED_TRACE(absl::StrCat("stopped after batch ", stop));
    const TemporaryDirectory folder;
    options_.checkpoint = folder.path();
    options_.resume = false;
    ASSERT_TRUE(Run(stop).ok());
    options_.resume = true;
    const auto resumed = Run();
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ExpectSame(resumed->state, straight->state);
    EXPECT_EQ(resumed->lines.back().rate, straight->lines.back().rate);
  }
}

TEST_F(ResumeTest, AFolderThatCannotBeMadeIsAnErrorOfFiles) {
  options_.checkpoint = folder_.path() + "/missing/folder";
  EXPECT_THAT(Run().status().message(), HasSubstr("of a file: "));
}

}  // namespace
}  // namespace tartan::train::resume_test
