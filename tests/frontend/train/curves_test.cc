// SPDX-License-Identifier: Apache-2.0
// Compares the losses of 100 training steps (20 of recurrent operators and loops) with PyTorch's,
// from the same parameters and data. scripts/training_curves.py writes the data in
// tests/frontend/train/curves. With TARTAN_LONG_TESTS, all networks run exact (shape-specialised)
// kernels. Without it, networks that compile for long run ready (dynamic-shape) kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "frontend/train/schedule.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/train/training_curves.h"
#include "tile/compiler/compile_options.h"

namespace tartan::train::curves_test {
namespace {

TrainerOptions OptionsOf(const std::string& run, Precision precision) {
  TrainerOptions options;
  options.precision = precision;
  options.mode.batch_norm = true;
  if (run == "momentum") {
    options.optimizer.kind = OptimizerKind::kMomentum;
  } else {
    options.optimizer.decay = 0.01;
    options.clip_norm = 1;
  }
  return options;
}

struct Case {
  std::string network;
  std::string run;
  bool compiles_long = false;
  size_t steps = 100;
};

// Trains for these steps and calls `look` with each loss and PyTorch's loss.
void Train(const Case& which, Precision precision,
           const std::function<void(int step, double loss, double expected)>& look) {
  auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  std::shared_ptr<api::Device> used = *device;
  if (which.compiles_long && std::getenv("TARTAN_LONG_TESTS") == nullptr) {
    used = used->WithTier(compiler::Tier::kReady);
  }
  const Curves curves = ReadCurves(which.network);
  const Curves::Run& expected = curves.runs.at(which.run);
  ASSERT_EQ(expected.losses.size(), which.steps);
  const auto model = LoadToTrain(curves);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trainer = Trainer::Create(*model, used, OptionsOf(which.run, precision));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<Batch> batches;
  for (int i = 0; i < curves.batches; ++i) batches.push_back(BatchOf(curves, i));
  Schedule cosine;
  cosine.kind = ScheduleKind::kCosine;
  const Schedule schedule = which.run == "adamw" ? cosine : Schedule();
  const int steps = static_cast<int>(which.steps);
  for (int step = 0; step < steps; ++step) {
    const Batch& batch = batches[static_cast<size_t>(step % curves.batches)];
    ASSERT_EQ(
        (*trainer)->Step(batch.inputs, batch.target, expected.rate * schedule.At(step, steps)),
        absl::OkStatus());
    const auto progress = (*trainer)->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_EQ(progress->left_out, 0);
    look(step, progress->loss, expected.losses[static_cast<size_t>(step)]);
  }
  testing::Test::RecordProperty("compile_ms", absl::StrCat((*trainer)->compile_ms()));
}

class CurvesTest : public testing::TestWithParam<Case> {};

TEST_P(CurvesTest, LossesAreThoseOfPyTorch) {
  double worst = 0;
  Train(GetParam(), Precision::kFloat32, [&](int step, double loss, double expected) {
    EXPECT_NEAR(loss, expected, 1e-3 * expected) << "step " << step;
    worst = std::max(worst, std::abs(loss / expected - 1));
  });
  RecordProperty("worst", absl::StrCat(worst));
}

INSTANTIATE_TEST_SUITE_P(
    Networks, CurvesTest,
    testing::Values(Case{"mlp", "momentum"}, Case{"mlp", "adamw"}, Case{"cnn", "momentum", true},
                    Case{"cnn", "adamw"}, Case{"resnet18", "momentum", true},
                    Case{"resnet18", "adamw", true}, Case{"lstm", "momentum", true},
                    Case{"lstm", "adamw", true}, Case{"transformer", "momentum", true},
                    Case{"transformer", "adamw", true}),
    [](const auto& named) { return named.param.network + "_" + named.param.run; });

// Both directions with several lengths, Scan from the last row, Loop: 20 iterations, which are
// loops of the program. The second parameter is whether sub-buffers may overlap.
class LoopCurvesTest : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(LoopCurvesTest, LossesAreThoseOfPyTorch) {
  const auto& [network, may_overlap] = GetParam();
  if (!may_overlap) setenv("TARTAN_DISJOINT_VIEWS", "1", /*overwrite=*/1);
  Train({network, "momentum", false, 20}, Precision::kFloat32,
        [&](int step, double loss, double expected) {
          EXPECT_NEAR(loss, expected, 1e-5 * expected) << "step " << step;
        });
  unsetenv("TARTAN_DISJOINT_VIEWS");
}

INSTANTIATE_TEST_SUITE_P(Networks, LoopCurvesTest,
                         testing::Combine(testing::Values("lstm_both_ways", "gru_both_ways", "scan",
                                                          "loop"),
                                          testing::Bool()),
                         [](const auto& named) {
                           return absl::StrCat(std::get<0>(named.param),
                                               std::get<1>(named.param) ? "" : "_disjoint");
                         });

struct NarrowCase {
  Case which;
  Precision precision;
  int roundings;  // number of roundings of values and weight copies, from the input to the scores
};

class NarrowCurvesTest : public testing::TestWithParam<NarrowCase> {};

// Each rounding moves the scores by up to half a unit in the last place, in either direction. So n
// roundings move them by about sqrt(n) half units. The loss moves by no more than the scores and
// starts at about their magnitude. Gradients have a similar relative error. So the initial distance
// between the curves bounds the later ones, as long as both losses decrease.
TEST_P(NarrowCurvesTest, LossesFollowThoseInFloat32AsFarAsRoundingLets) {
  const double unit = GetParam().precision == Precision::kFloat16 ? 0x1p-11 : 0x1p-8;
  double tolerance = 0;
  double worst = 0;
  Train(GetParam().which, GetParam().precision, [&](int step, double loss, double expected) {
    if (step == 0) tolerance = std::sqrt(GetParam().roundings) * unit * expected;
    EXPECT_NEAR(loss, expected, tolerance) << "step " << step;
    worst = std::max(worst, std::abs(loss - expected));
  });
  RecordProperty("worst_share", absl::StrCat(worst / tolerance));
  EXPECT_GT(worst, tolerance * 1e-3);  // rounding has an effect
}

INSTANTIATE_TEST_SUITE_P(
    Networks, NarrowCurvesTest,
    testing::Values(NarrowCase{{"mlp", "momentum", true}, Precision::kBFloat16, 9},
                    NarrowCase{{"mlp", "adamw", true}, Precision::kFloat16, 9},
                    NarrowCase{{"cnn", "momentum", true}, Precision::kFloat16, 16},
                    NarrowCase{{"cnn", "adamw", true}, Precision::kBFloat16, 16}),
    [](const auto& named) {
      return absl::StrCat(named.param.which.network, "_", named.param.which.run, "_",
                          Name(named.param.precision));
    });

}  // namespace
}  // namespace tartan::train::curves_test
