// SPDX-License-Identifier: Apache-2.0
// Tests of training with CTC: columns of labels and of numbers of frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/train/fit.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::ctc_training_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::HasSubstr;

constexpr int64_t kRows = 3;
constexpr int64_t kFrames = 6;
constexpr int64_t kClasses = 3;
constexpr int64_t kBlank = 0;

// y[N, 6, 3] = softmax(x[N, 6, 2] w): the loss reads the scores before the softmax.
std::string SpeechText() {
  return absl::StrCat("graph { name: 'speech' ", ValueText("input", "x", 1, "N 6 2"),
                      " output { name: 'p' } ", InitializerText("w", {2, kClasses}, 7),
                      NodeText("MatMul", {"x", "w"}, {"y"}), NodeText("Softmax", {"y"}, {"p"}),
                      "}");
}

HostTensor Sounds() { return Floats({kRows, kFrames, 2}, Numbers(kRows * kFrames * 2, 1)); }

// The probability of all paths of classes over the frames that collapse to `labels`.
double Probability(const std::vector<double>& x, int64_t row, int64_t frames,
                   const std::vector<int64_t>& labels) {
  const std::vector<float> w = Numbers(2 * kClasses, 7);
  double sum = 0;
  for (int64_t path = 0; path < std::pow(kClasses, frames); ++path) {
    std::vector<int64_t> collapsed;
    int64_t last = kBlank;
    double probability = 1;
    int64_t rest = path;
    for (int64_t t = 0; t < frames; ++t, rest /= kClasses) {
      const int64_t chosen = rest % kClasses;
      double all = 0;
      double one = 0;
      for (int64_t c = 0; c < kClasses; ++c) {
        const double* at = &x[static_cast<size_t>(row * kFrames + t) * 2];
        const double e = std::exp(at[0] * w[c] + at[1] * w[kClasses + c]);
        all += e;
        if (c == chosen) one = e;
      }
      probability *= one / all;
      if (chosen != kBlank && chosen != last) collapsed.push_back(chosen);
      last = chosen;
    }
    if (collapsed == labels) sum += probability;
  }
  return sum;
}

class CtcTest : public DeviceTest {
 protected:
  // Trains for one epoch in one batch. The rows have labels {1, 1}, {2} and none.
  absl::StatusOr<FitResult> Run(const std::string& loss, const std::vector<int64_t>& labels,
                                const std::vector<int64_t>& frames, double rate = 0) {
    const auto model = LoadToTrain(SpeechText());
    if (!model.ok()) return model.status();
    TrainerOptions options;
    options.loss = *ParseLoss(loss);
    options.optimizer.kind = OptimizerKind::kSgd;
    auto trainer = Trainer::Create(*model, device_, options);
    if (!trainer.ok()) return trainer.status();
    EXPECT_EQ((*trainer)->loss_output(), "y");
    const auto dataset = data::DatasetOf(
        "data", {{"x", Sounds()},
                 {"y", HostTensor::FromVector({DataType::kInt64, {kRows, 2}}, labels)},
                 {"frames", HostTensor::FromVector({DataType::kInt64, {kRows}}, frames)}});
    if (!dataset.ok()) return dataset.status();
    FitOptions fit;
    fit.columns["x"] = "x";
    fit.batch = kRows;
    fit.rate = rate;
    fit.epochs = rate > 0 ? 20 : 1;
    fit.validation_data = *dataset;
    return Fit(**trainer, **model, *dataset, options, fit, {});
  }
};

TEST_F(CtcTest, TheLossSumsTheProbabilitiesOfAllPaths) {
  const std::vector<int64_t> labels = {1, 1, 2, -1, -1, -1};
  const std::vector<std::vector<int64_t>> lists = {{1, 1}, {2}, {}};
  const std::vector<double> x = Sounds().ToDoubles();
  for (const bool varies : {false, true}) {
    const std::vector<int64_t> frames =
        varies ? std::vector<int64_t>{5, 6, 2} : std::vector<int64_t>(kRows, kFrames);
    double loss = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const auto count = std::max<double>(1, static_cast<double>(lists[row].size()));
      loss -= std::log(Probability(x, row, frames[row], lists[row])) / count / kRows;
    }
    const auto result = Run(varies ? "ctc:lengths=frames" : "ctc", labels, frames);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->metrics.at("loss"), loss, 2e-6);
    EXPECT_NEAR(result->metrics.at("val_loss"), loss, 2e-6);
    const auto trained = Run(varies ? "ctc:lengths=frames" : "ctc", labels, frames, 0.5);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_LT(trained->metrics.at("val_loss"), 0.9 * loss);
  }
}

// Two equal labels need three frames.
TEST_F(CtcTest, RowsWithoutAnAlignmentEndTheRunOrCountZero) {
  const std::vector<int64_t> labels = {1, 1, 2, -1, -1, -1};
  EXPECT_THAT(std::string(Run("ctc:lengths=frames", labels, {2, 6, 6}).status().message()),
              HasSubstr("not a finite number"));
  const auto counted = Run("ctc:lengths=frames,zero_infinity=1", labels, {2, 6, 6});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_TRUE(std::isfinite(counted->metrics.at("loss")));
  // More frames than there are is an error of the data.
  EXPECT_THAT(std::string(Run("ctc:lengths=frames", labels, {7, 6, 6}).status().message()),
              HasSubstr("not a finite number"));
}

TEST_F(CtcTest, NamesLabelsAndColumnsThatDoNotFit) {
  const std::vector<int64_t> frames(kRows, kFrames);
  EXPECT_THAT(std::string(Run("ctc", {1, 2, 1, 3, 1, -1}, frames).status().message()),
              HasSubstr("example 1, element [1]: label 3 is not in [0, 3)"));
  EXPECT_THAT(std::string(Run("ctc:lengths=x", {1, 2, 1, -1, 1, -1}, frames).status().message()),
              HasSubstr("the lengths 'x' are float32[6, 2]"));
  EXPECT_THAT(std::string(Run("ctc:blank=3", {1, 2, 1, -1, 1, -1}, frames).status().message()),
              HasSubstr("the blank 3 is no class"));
  EXPECT_THAT(std::string(Run("ctc:time=0", {1, 2, 1, -1, 1, -1}, frames).status().message()),
              HasSubstr("different numbers of examples"));
}

}  // namespace
}  // namespace tartan::train::ctc_training_test
