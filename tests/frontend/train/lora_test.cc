// SPDX-License-Identifier: Apache-2.0
// Tests of low-rank adaptation: the first loss, trained numbers, exported weights.
#include "frontend/train/graph/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::lora_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

constexpr int64_t kIn = 7;
constexpr int64_t kHidden = 9;
constexpr int64_t kOut = 5;
constexpr int64_t kRows = 6;

// y = Gemm(tanh(x w + b), v^T): v is [out, hidden].
std::string Network(const std::vector<float>& w, const std::vector<float>& v) {
  return absl::StrCat(
      "graph { name: 'two' ", ValueText("input", "x", 1, absl::StrCat("N ", kIn)),
      " output { name: 'y' } ", InitializerText("w", {kIn, kHidden}, w),
      InitializerText("b", {kHidden}, Numbers(kHidden, 3)),
      InitializerText("v", {kOut, kHidden}, v), NodeText("MatMul", {"x", "w"}, {"h"}),
      NodeText("Add", {"h", "b"}, {"g"}), NodeText("Tanh", {"g"}, {"a"}),
      NodeText("Gemm", {"a", "v"}, {"y"}, "attribute { name: 'transB' type: INT i: 1 }"), "}");
}

std::vector<float> W() { return Numbers(kIn * kHidden, 1); }
std::vector<float> V() { return Numbers(kOut * kHidden, 2); }

class LoraTest : public DeviceTest {
 protected:
  LoraTest() {
    options_.loss.kind = LossKind::kMse;
    options_.rules.lora = {{"w|v", 2, 6}};
  }

  std::unique_ptr<Trainer> Make(const std::vector<float>& w, const std::vector<float>& v) {
    const auto model = LoadToTrain(Network(w, v));
    EXPECT_TRUE(model.ok()) << model.status();
    auto trainer = Trainer::Create(*model, device_, options_);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }
  absl::Status Error() {
    return Trainer::Create(*LoadToTrain(Network(W(), V())), device_, options_).status();
  }

  double Step(Trainer& trainer, double rate) {
    EXPECT_EQ(trainer.Step({{"x", x_}}, t_, rate), absl::OkStatus());
    const auto progress = trainer.Read();
    EXPECT_TRUE(progress.ok()) << progress.status();
    return progress.ok() ? progress->loss : 0;
  }

  const HostTensor x_ = Floats({kRows, kIn}, Numbers(kRows* kIn, 4));
  const HostTensor t_ = Floats({kRows, kOut}, Numbers(kRows* kOut, 5));
  TrainerOptions options_;
};

TEST_F(LoraTest, StartsAtTheFrozenModelAndImproves) {
  const auto adapted = Make(W(), V());
  const double first = Step(*adapted, 0.01);
  double last = first;
  for (int i = 0; i < 30; ++i) last = Step(*adapted, 0.01);
  EXPECT_LT(last, first / 2);
  options_.rules = {};
  EXPECT_NEAR(Step(*Make(W(), V()), 0), first, 1e-6 * first);
}

TEST_F(LoraTest, OnlyFactorsHaveStates) {
  const auto trainer = Make(W(), V());
  Step(*trainer, 0.01);
  const auto state = trainer->Save();
  ASSERT_TRUE(state.ok()) << state.status();
  int64_t averages = 0;
  int64_t parameters = 0;
  for (const auto& [name, value] : state->tensors)
    (absl::StartsWith(name, "parameter/") ? parameters : averages) += value.element_count();
  constexpr int64_t kFactors = 2 * (kIn + kHidden) + 2 * (kOut + kHidden);
  EXPECT_EQ(parameters, kFactors);
  EXPECT_EQ(averages, 2 * kFactors);  // two averages of AdamW
}

TEST_F(LoraTest, MergedWeightsGiveTheLossOfTheFactors) {
  const auto trainer = Make(W(), V());
  for (int i = 0; i < 5; ++i) Step(*trainer, 0.05);
  const auto values = trainer->Values();
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(Key("v"), Key("w")));
  EXPECT_NE(values->at("w").ToDoubles()[0], double{W()[0]});
  const double loss = Step(*trainer, 0);
  const auto evaluation = trainer->Evaluate({{"x", x_}}, t_);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->numerator / evaluation->denominator, loss, 1e-5 * loss);
  const auto floats = [&](const std::string& name) {
    const std::vector<double> doubles = values->at(name).ToDoubles();
    return std::vector<float>(doubles.begin(), doubles.end());
  };
  options_.rules = {};
  EXPECT_NEAR(Step(*Make(floats("w"), floats("v")), 0), loss, 1e-4 * loss);
}

// The gradient of the factors is that of the merged weight, by the chain rule.
TEST_F(LoraTest, AStepOfDescentIsThatOfTheChainRule) {
  options_.optimizer.kind = OptimizerKind::kSgd;
  options_.rules.lora = {{"w", 2, 6}};
  const auto trainer = Make(W(), V());
  constexpr double kRate = 0.125;
  Step(*trainer, kRate);
  const auto state = trainer->Save();
  ASSERT_TRUE(state.ok()) << state.status();
  // B was 0, so that A has no gradient, and B has scale A^T dL/dW.
  const std::vector<double> a = state->tensors.at("parameter/w.lora_a").ToDoubles();
  const std::vector<double> b = state->tensors.at("parameter/w.lora_b").ToDoubles();
  options_.rules = {};
  options_.rules.trainable = "w";
  const auto whole = Make(W(), V());
  Step(*whole, kRate);
  const std::vector<double> w = whole->Values()->at("w").ToDoubles();
  const std::vector<float> before = W();
  for (int64_t k = 0; k < 2; ++k) {
    for (int64_t j = 0; j < kHidden; ++j) {
      double expected = 0;
      for (int64_t i = 0; i < kIn; ++i)
        expected += 3 * a[i * 2 + k] * (w[i * kHidden + j] - before[i * kHidden + j]);
      EXPECT_NEAR(b[k * kHidden + j], expected, 1e-5) << k << " " << j;
    }
  }
}

TEST_F(LoraTest, TrainsWithAccumulationAndSixteenBits) {
  options_.accumulate = 2;
  options_.precision = Precision::kBFloat16;
  const auto trainer = Make(W(), V());
  const double first = Step(*trainer, 0.02);
  double last = first;
  for (int i = 0; i < 40; ++i) last = Step(*trainer, 0.02);
  EXPECT_LT(last, first / 2);
}

TEST_F(LoraTest, TrainsOtherParametersThatAreNamed) {
  options_.rules.lora = {{"w", 2, 2}};
  options_.rules.trainable = "b";
  const auto trainer = Make(W(), V());
  Step(*trainer, 0.05);
  EXPECT_THAT(*trainer->Values(), ElementsAre(Key("b"), Key("w")));
}

TEST_F(LoraTest, NamesWhatCannotBeAdapted) {
  options_.rules.lora = {{"b", 2, 2}};
  EXPECT_THAT(Error().message(), HasSubstr("'b' names no weight of MatMul or Gemm"));
  options_.rules.lora = {{"w", 8, 8}};
  EXPECT_THAT(Error().message(), HasSubstr("'w' float32[7, 9]: the rank 8 is above 7"));
  options_.rules.lora = {{"w", 0, 8}};
  EXPECT_THAT(Error().message(), HasSubstr("must be positive"));
  EXPECT_THAT(ParseLora("w").status().message(), HasSubstr("RE:rank=N"));
  EXPECT_THAT(ParseLora("w:rank=2,beta=3").status().message(), HasSubstr("RE:rank=N"));
  const auto rule = ParseLora("layers.*:rank=4,alpha=16");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->names, "layers.*");
  EXPECT_EQ(rule->rank, 4);
  EXPECT_EQ(rule->alpha, 16);
  EXPECT_EQ(ParseLora("w:rank=4")->alpha, 4);
}

}  // namespace
}  // namespace tartan::train::lora_test
