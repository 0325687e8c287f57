// SPDX-License-Identifier: Apache-2.0
// Losses over 100 steps beside those of PyTorch, from the same start and data: tests/…/curves holds
// what scripts/training_curves.py wrote. TARTAN_LONG_TESTS compiles the exact kernels of all
// networks; else those that compile long run kernels whose sizes are arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "frontend/train/schedule.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/train/training_curves.h"
#include "tile/compiler/compile_options.h"

namespace tartan::train::curves_test {
namespace {

TrainerOptions OptionsOf(const std::string& run) {
  TrainerOptions options;
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
};

class CurvesTest : public testing::TestWithParam<Case> {};

TEST_P(CurvesTest, LossesAreThoseOfPyTorch) {
  auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  std::shared_ptr<api::Device> used = *device;
  if (GetParam().compiles_long && std::getenv("TARTAN_LONG_TESTS") == nullptr) {
    used = used->WithTier(compiler::Tier::kReady);
  }
  const Curves curves = ReadCurves(GetParam().network);
  const Curves::Run& expected = curves.runs.at(GetParam().run);
  ASSERT_EQ(expected.losses.size(), 100u);
  const auto model = LoadToTrain(curves);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trainer = Trainer::Create(*model, used, OptionsOf(GetParam().run));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<Batch> batches;
  for (int i = 0; i < curves.batches; ++i) batches.push_back(BatchOf(curves, i));
  Schedule cosine;
  cosine.kind = ScheduleKind::kCosine;
  const Schedule schedule = GetParam().run == "adamw" ? cosine : Schedule();
  double worst = 0;
  for (int step = 0; step < 100; ++step) {
    const Batch& batch = batches[static_cast<size_t>(step % curves.batches)];
    ASSERT_EQ((*trainer)->Step(batch.inputs, batch.target, expected.rate * schedule.At(step, 100)),
              absl::OkStatus());
    const auto progress = (*trainer)->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    const double loss = expected.losses[static_cast<size_t>(step)];
    EXPECT_NEAR(progress->loss, loss, 1e-3 * loss) << "step " << step;
    worst = std::max(worst, std::abs(progress->loss / loss - 1));
  }
  RecordProperty("worst", absl::StrCat(worst));
  RecordProperty("compile_ms", absl::StrCat((*trainer)->compile_ms()));
}

INSTANTIATE_TEST_SUITE_P(
    Networks, CurvesTest,
    testing::Values(Case{"mlp", "momentum"}, Case{"mlp", "adamw"}, Case{"cnn", "momentum", true},
                    Case{"cnn", "adamw"}, Case{"resnet18", "momentum", true},
                    Case{"resnet18", "adamw", true}, Case{"lstm", "momentum", true},
                    Case{"lstm", "adamw", true}, Case{"transformer", "momentum", true},
                    Case{"transformer", "adamw", true}),
    [](const auto& named) { return named.param.network + "_" + named.param.run; });

}  // namespace
}  // namespace tartan::train::curves_test
