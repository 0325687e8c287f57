// SPDX-License-Identifier: Apache-2.0
// Tests of 16-bit training: the values that are rounded, and loss scaling.
#include "frontend/train/precision/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"
#include "tile/compiler/compile_options.h"

namespace tartan::train::precision_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::Each;
using testing::HasSubstr;

// The model y[N, 1] = x w. With mse and target 0, its gradient is 2 mean(x y).
std::string LineText() {
  return absl::StrCat("graph { name: 'line' ", ValueText("input", "x", 1, "N 1"),
                      " output { name: 'y' } ", InitializerText("w", {1, 1}, std::vector<float>{1}),
                      NodeText("MatMul", {"x", "w"}, {"y"}), "}");
}

class PrecisionTest : public DeviceTest {
 protected:
  std::unique_ptr<Trainer> Make(const std::string& text, const TrainerOptions& options) const {
    const auto model = LoadToTrain(text);
    EXPECT_TRUE(model.ok()) << model.status();
    auto trainer = Trainer::Create(*model, device_, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }

  static TrainerOptions Descent(Precision precision) {
    TrainerOptions options;
    options.optimizer.kind = OptimizerKind::kSgd;
    options.precision = precision;
    return options;
  }

  // Options to train y = x w on one example with target 0.
  static TrainerOptions Line() {
    TrainerOptions options = Descent(Precision::kFloat16);
    options.loss.kind = LossKind::kMse;
    return options;
  }
  static absl::Status StepLine(Trainer& trainer, float x, double rate = 0.001) {
    return trainer.Step({{"x", Floats({1, 1}, {x})}}, Floats({1, 1}, {0}), rate);
  }
  static double Weight(Trainer& trainer, const std::string& name = "w") {
    const auto values = trainer.Values();
    EXPECT_TRUE(values.ok()) << values.status();
    return values->at(name).GetDouble(0);
  }
};

TEST_F(PrecisionTest, ParametersAddUpUpdatesThatSixteenBitsCannotTell) {
  // 1 - 2^-14 rounds to 1 in bfloat16 and in float16.
  for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
    TrainerOptions options = Line();
    options.precision = precision;
    options.loss_scale.first = 16;
    const auto trainer = Make(LineText(), options);
    for (int step = 0; step < 8; ++step)
      ASSERT_EQ(StepLine(*trainer, 1, std::ldexp(1, -15)), absl::OkStatus());
    ASSERT_TRUE(trainer->Read().ok());
    // The 16-bit copy of the weight stays 1, and so does the gradient of 2 (in float16 within an
    // ulp of 2^-11).
    EXPECT_NEAR(Weight(*trainer), 1 - 8 * std::ldexp(1, -14), 8 * std::ldexp(1, -14) * 0x1p-10);
    const auto state = trainer->Save();
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->tensors.at("parameter/w").type(), DataType::kFloat32);
  }
}

TEST_F(PrecisionTest, AStepNeedsLessMemory) {
  const HostTensor x = Images(4096, 1);
  const HostTensor t = ClassesFor(4096, 2);
  std::map<Precision, int64_t> bytes;
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
    const auto trainer = Make(MlpText(), Descent(precision));
    ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
    const Trainer::Memory memory = trainer->memory();
    bytes[precision] = memory.kept + memory.scratch;
  }
  EXPECT_LT(bytes[Precision::kBFloat16], 0.8 * static_cast<double>(bytes[Precision::kFloat32]));
  EXPECT_LT(bytes[Precision::kFloat16], 0.8 * static_cast<double>(bytes[Precision::kFloat32]));
}

// The frozen weight v is a constant, known when the program is loaded.
// Forward pass, gradient by data and gradient by weights.
TEST_F(PrecisionTest, SixteenBitsMultiplyOnMatrixUnits) {
  if (device_->info().settings.matrix_local_bytes == 0) GTEST_SKIP() << "there are none";
  const std::string text = absl::StrCat(
      "graph { name: 'layers' ", ValueText("input", "x", 1, "N 256"), " output { name: 'y' } ",
      InitializerText("v", {256, 256}, 3), InitializerText("w", {256, 256}, 4),
      NodeText("MatMul", {"x", "v"}, {"h"}), NodeText("MatMul", {"h", "w"}, {"y"}), "}");
  for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
    TrainerOptions options = Descent(precision);
    options.loss.kind = LossKind::kMse;
    std::string plans;
    compiler::CompileHooks hooks;
    hooks.dump = [&](absl::string_view stage, absl::string_view plan) {
      if (stage == "plan") absl::StrAppend(&plans, plan);
    };
    device_ = device_->WithTier(compiler::Tier::kExact)->With(std::move(hooks));
    const auto trainer = Make(text, options);
    const HostTensor x = Floats({256, 256}, Numbers(256 * 256, 5));
    ASSERT_EQ(trainer->Step({{"x", x}}, x, 0.1), absl::OkStatus());
    const std::vector<std::string> parts =
        absl::StrSplit(plans, absl::StrCat("tensor cores in ", Name(precision)));
    EXPECT_GE(parts.size(), 1 + 5) << plans;
  }
}

TEST_F(PrecisionTest, AStepIsNotQuantized) {
  const std::string text = absl::StrCat(
      "graph { name: 'layers' ", ValueText("input", "x", 1, "N 64"), " output { name: 'y' } ",
      InitializerText("v", {64, 64}, 3), InitializerText("w", {64, 64}, 4),
      NodeText("MatMul", {"x", "v"}, {"h"}), NodeText("MatMul", {"h", "w"}, {"g"}),
      NodeText("MatMul", {"g", "v"}, {"y"}), "}");
  TrainerOptions options = Descent(Precision::kFloat32);
  options.loss.kind = LossKind::kMse;
  options.rules.frozen = "v";
  const HostTensor x = Floats({32, 64}, Numbers(32 * 64, 5));
  const HostTensor target = Floats({32, 64}, Numbers(32 * 64, 6));
  std::vector<double> weights;
  for (const auto precision : {tartan::Precision::kFloat32, tartan::Precision::kInt8}) {
    device_ = device_->WithTier(compiler::Tier::kExact)->WithPrecision(precision);
    const auto trainer = Make(text, options);
    ASSERT_EQ(trainer->Step({{"x", x}}, target, 0.1), absl::OkStatus());
    weights.push_back(Weight(*trainer));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST_F(PrecisionTest, TheScaleHalvesAndNothingMovesWhereAGradientOverflows) {
  TrainerOptions options = Line();
  options.optimizer.kind = OptimizerKind::kAdam;
  const auto trainer = Make(LineText(), options);
  // dy = 2 * 64 * 65536 exceeds 65504, the largest float16, until the scale falls below 512.
  int steps = 0;
  for (; steps < 20; ++steps) {
    ASSERT_EQ(StepLine(*trainer, 64), absl::OkStatus());
    const auto progress = trainer->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    if (progress->left_out <= steps) break;
    EXPECT_EQ(*progress->loss_scale, std::ldexp(65536, -steps - 1));
    EXPECT_EQ(Weight(*trainer), 1);
    const auto state = trainer->Save();
    ASSERT_TRUE(state.ok());
    EXPECT_THAT(state->tensors.at("momentum/w").ToDoubles(), Each(0));
    EXPECT_THAT(state->tensors.at("square/w").ToDoubles(), Each(0));
  }
  // The gradient by w is 64 times the gradient by y.
  EXPECT_EQ(steps, 14);
  // Adam's first step equals its rate, because skipped steps do not count in its bias corrections.
  EXPECT_NEAR(Weight(*trainer), 1 - 0.001, 1e-6);
}

TEST_F(PrecisionTest, TheScaleDoublesAfterGoodStepsInARow) {
  TrainerOptions options = Line();
  options.loss_scale.first = 16;
  options.loss_scale.growth_steps = 3;
  const auto trainer = Make(LineText(), options);
  std::vector<double> scales;
  for (int step = 0; step < 8; ++step) {
    // The fifth step overflows, which restarts the count of 3 good steps.
    ASSERT_EQ(StepLine(*trainer, step == 4 ? 250 : 1, 1e-5), absl::OkStatus());
    scales.push_back(*trainer->Read()->loss_scale);
  }
  EXPECT_THAT(scales, testing::ElementsAre(16, 16, 32, 32, 16, 16, 16, 32));
  EXPECT_EQ(trainer->Read()->left_out, 1);
}

TEST_F(PrecisionTest, AFixedScaleStays) {
  TrainerOptions options = Line();
  options.loss_scale.fixed = 8;
  const auto trainer = Make(LineText(), options);
  ASSERT_EQ(StepLine(*trainer, 100), absl::OkStatus());
  const auto progress = trainer->Read();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(*progress->loss_scale, 8);
  EXPECT_EQ(progress->left_out, 1);
  EXPECT_EQ(Weight(*trainer), 1);
}

TEST_F(PrecisionTest, GradientsThatNoScaleMendsAreNamed) {
  // The value and its loss are finite in float16; the gradient by w is not.
  for (const bool is_fixed : {false, true}) {
    TrainerOptions options = Line();
    options.loss_scale.first = 1;
    options.loss_scale.fixed = is_fixed ? 1 : 0;
    const auto trainer = Make(LineText(), options);
    for (int step = 0; step < 40; ++step) ASSERT_EQ(StepLine(*trainer, 60000), absl::OkStatus());
    const auto progress = trainer->Read();
    EXPECT_EQ(progress.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(progress.status().message()),
                HasSubstr(is_fixed ? "with a loss scale of 1" : "although the loss scale fell to"));
    EXPECT_EQ(Weight(*trainer), 1);
  }
}

TEST_F(PrecisionTest, ALossThatIsNoNumberIsStillNamed) {
  const auto trainer = Make(MlpText(), Descent(Precision::kFloat16));
  HostTensor x = Images(4, 1);
  const HostTensor t = ClassesFor(4, 2);
  ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
  ASSERT_TRUE(trainer->Read().ok());
  // The result of the matmul is finite in float32 but not in float16.
  x = Floats({4, 5}, std::vector<float>(20, 60000));
  ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
  EXPECT_EQ(trainer->Read().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(trainer->failed_step(), 2);
  const auto found = trainer->FindNonFinite({{"x", x}}, t);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, HasSubstr("'h0'"));
}

TEST_F(PrecisionTest, GoesOnBitForBit) {
  for (const int64_t accumulate : {1, 2}) {
    TrainerOptions options;
    options.precision = Precision::kFloat16;
    options.clip_norm = 1;
    options.accumulate = accumulate;
    options.loss_scale.first = 1 << 22;  // too large at first
    options.loss_scale.growth_steps = 4;
    const auto step = [&](Trainer& trainer, uint64_t number) {
      for (int64_t i = 0; i < accumulate; ++i) {
        const uint64_t seed = 2 * number + static_cast<uint64_t>(i);
        ASSERT_EQ(trainer.Step({{"x", Images(8, 10 + seed)}}, ClassesFor(8, 50 + seed), 0.01),
                  absl::OkStatus());
      }
    };
    const auto whole = Make(MlpText(), options);
    for (uint64_t s = 0; s < 12; ++s) step(*whole, s);
    const auto first = Make(MlpText(), options);
    for (uint64_t s = 0; s < 7; ++s) step(*first, s);
    const auto saved = first->Save();
    ASSERT_TRUE(saved.ok());
    ASSERT_EQ(saved->tensors.count(kScaleName), 1u);
    const auto second = Make(MlpText(), options);
    ASSERT_EQ(second->Restore(*saved), absl::OkStatus());
    for (uint64_t s = 7; s < 12; ++s) step(*second, s);
    const auto expected = whole->Save();
    const auto got = second->Save();
    ASSERT_TRUE(expected.ok() && got.ok());
    EXPECT_GT(expected->tensors.at(kScaleName).GetDouble(kSkippedUpdates), 0);
    for (const auto& [name, value] : expected->tensors) {
      const auto bytes = got->tensors.at(name).bytes();
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), value.bytes().begin())) << name;
    }
  }
}

TEST_F(PrecisionTest, AnAccumulatedGradientThatOverflowsLeavesTheWholeUpdateOut) {
  TrainerOptions options = Line();
  options.accumulate = 2;
  const auto trainer = Make(LineText(), options);
  ASSERT_EQ(StepLine(*trainer, 64), absl::OkStatus());
  ASSERT_EQ(StepLine(*trainer, 0.01F), absl::OkStatus());
  EXPECT_EQ(trainer->Read()->left_out, 1);
  EXPECT_EQ(Weight(*trainer), 1);
  // Reading the progress resets its sums.
  ASSERT_EQ(StepLine(*trainer, 0.01F), absl::OkStatus());
  ASSERT_EQ(StepLine(*trainer, 0.01F), absl::OkStatus());
  EXPECT_EQ(trainer->Read()->left_out, 1);
  EXPECT_LT(Weight(*trainer), 1);
}

TEST_F(PrecisionTest, AModelOfFloat16HasFloat32Masters) {
  const std::string text = absl::StrCat(
      "graph { name: 'line' ", ValueText("input", "x", 10, "N 1"), " output { name: 'y' } ",
      "initializer { name: 'w' data_type: 10 dims: 1 dims: 1 int32_data: 15360 } ",  // 1
      NodeText("MatMul", {"x", "w"}, {"y"}), "}");
  const HostTensor x =
      HostTensor::FromVector({DataType::kFloat16, {1, 1}}, std::vector<uint16_t>{0x3c00});
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
    TrainerOptions options = Line();
    options.precision = precision;
    options.loss_scale.first = 16;
    const auto trainer = Make(text, options);
    for (int step = 0; step < 4; ++step) {
      ASSERT_EQ(trainer->Step({{"x", x}}, Floats({1, 1}, {0}), std::ldexp(1, -15)),
                absl::OkStatus());
    }
    const auto state = trainer->Save();
    ASSERT_TRUE(state.ok());
    const HostTensor& master = state->tensors.at("parameter/w");
    EXPECT_EQ(master.type(), DataType::kFloat32);
    EXPECT_NEAR(master.GetDouble(0), 1 - 4 * 0x1p-14, 0x1p-20) << Name(precision);
    EXPECT_EQ(trainer->Values()->at("w").type(), DataType::kFloat16);
  }
}

TEST(LossScale, SaysWhatItIsNot) {
  EXPECT_EQ(ParseLossScale("dynamic")->fixed, 0);
  EXPECT_EQ(ParseLossScale("128")->fixed, 128);
  for (const char* text : {"", "0", "-1", "nan", "big", "1e40"})
    EXPECT_EQ(ParseLossScale(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(PrecisionNamed("int8").status().message()),
              HasSubstr("float32, bfloat16 and float16"));
}

}  // namespace
}  // namespace tartan::train::precision_test
