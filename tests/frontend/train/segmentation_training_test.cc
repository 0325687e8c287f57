// SPDX-License-Identifier: Apache-2.0
// Tests of training on a class per pixel: scores [N, C, H, W] and classes [N, H, W].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/train/fit.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::segmentation_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;

constexpr int64_t kExamples = 4;
constexpr int64_t kPixels = 3 * 5;
constexpr int64_t kClasses = 4;
constexpr int64_t kIgnored = 255;

// y[N, 4, 3, 5] is a 1x1 convolution of x[N, 2, 3, 5].
std::string PixelsText() {
  return absl::StrCat("graph { name: 'pixels' ", ValueText("input", "x", 1, "N 2 3 5"),
                      " output { name: 'y' } ", InitializerText("w", {kClasses, 2, 1, 1}, 7),
                      NodeText("Conv", {"x", "w"}, {"y"}), "}");
}

HostTensor Pictures() { return Floats({kExamples, 2, 3, 5}, Numbers(kExamples * 2 * kPixels, 1)); }

std::vector<int64_t> Masks() {
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < kExamples * kPixels; ++i)
    classes.push_back(i % 7 == 3 ? kIgnored : i * i % 11 % kClasses);
  return classes;
}

// Cross entropy and accuracy of the model's first parameters, in float64.
std::pair<double, double> ByHand() {
  const std::vector<double> x = Pictures().ToDoubles();
  const std::vector<float> w = Numbers(kClasses * 2, 7);
  const std::vector<int64_t> classes = Masks();
  double loss = 0;
  double right = 0;
  double counted = 0;
  for (int64_t i = 0; i < kExamples * kPixels; ++i) {
    if (classes[i] == kIgnored) continue;
    const int64_t at = i / kPixels * 2 * kPixels + i % kPixels;
    double scores[kClasses];
    double sum = 0;
    int64_t best = 0;
    for (int64_t c = 0; c < kClasses; ++c) {
      scores[c] = w[2 * c] * x[at] + w[2 * c + 1] * x[at + kPixels];
      sum += std::exp(scores[c]);
      if (scores[c] > scores[best]) best = c;
    }
    loss += std::log(sum) - scores[classes[i]];
    right += best == classes[i];
    counted += 1;
  }
  return {loss / counted, right / counted};
}

class SegmentationTest : public DeviceTest {};

TEST_F(SegmentationTest, LossAndAccuracyOfAStepAndOfAValidationAreThoseOfPixels) {
  const auto model = LoadToTrain(PixelsText());
  ASSERT_TRUE(model.ok()) << model.status();
  TrainerOptions options;
  options.loss = *ParseLoss(absl::StrCat("softmax_cross_entropy:ignore=", kIgnored));
  options.optimizer.kind = OptimizerKind::kSgd;
  const auto trainer = Trainer::Create(*model, device_, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto dataset = data::DatasetOf(
      "data", {{"x", Pictures()},
               {"y", HostTensor::FromVector({DataType::kInt64, {kExamples, 3, 5}}, Masks())}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  FitOptions fit;
  fit.batch = 2;
  fit.rate = 0;
  fit.log_every = 100;
  fit.validation_data = *dataset;
  fit.metrics = {"accuracy", "f1_micro"};
  std::vector<LogLine> lines;
  FitHooks hooks;
  hooks.log = [&](const LogLine& line) { lines.push_back(line); };
  const auto result = Fit(**trainer, **model, *dataset, options, fit, hooks);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto [loss, accuracy] = ByHand();
  const std::map<std::string, double>& metrics = lines.back().metrics;
  EXPECT_NEAR(metrics.at("val_loss"), loss, 1e-5);
  EXPECT_NEAR(metrics.at("val_accuracy"), accuracy, 1e-9);
  EXPECT_NEAR(metrics.at("val_f1_micro"), accuracy, 1e-9);

  const HostTensor target = HostTensor::FromVector({DataType::kInt64, {kExamples, 3, 5}}, Masks());
  ASSERT_TRUE((*trainer)->Step({{"x", Pictures()}}, target, 0).ok());
  const auto progress = (*trainer)->Read();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_NEAR(progress->loss, loss, 1e-5);
  EXPECT_NEAR(*progress->accuracy, accuracy, 1e-6);
}

// A fit that only evaluates makes no step, and takes the share of the validation or all examples.
TEST_F(SegmentationTest, AnEvaluationComputesTheMetricsWithoutAStep) {
  const auto model = LoadToTrain(PixelsText());
  ASSERT_TRUE(model.ok()) << model.status();
  TrainerOptions options;
  options.loss = *ParseLoss(absl::StrCat("softmax_cross_entropy:ignore=", kIgnored));
  options.rules.frozen = ".*";
  options.rules.may_train_nothing = true;
  std::vector<int64_t> masks = Masks();
  const auto evaluate = [&](FitOptions fit) -> absl::StatusOr<LogLine> {
    const auto trainer = Trainer::Create(*model, device_, options);
    if (!trainer.ok()) return trainer.status();
    const auto dataset = data::DatasetOf(
        "data", {{"x", Pictures()},
                 {"y", HostTensor::FromVector({DataType::kInt64, {kExamples, 3, 5}}, masks)}});
    if (!dataset.ok()) return dataset.status();
    LogLine found;
    FitHooks hooks;
    hooks.log = [&](const LogLine& line) { found = line; };
    fit.evaluates = true;
    const auto result = Fit(**trainer, **model, *dataset, options, fit, hooks);
    if (!result.ok()) return result.status();
    EXPECT_EQ((*trainer)->step(), 0);
    EXPECT_EQ(result->steps, 0);
    EXPECT_EQ(result->metrics, found.metrics);
    return found;
  };
  const auto [loss, accuracy] = ByHand();
  const auto all = evaluate({});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_NEAR(all->metrics.at("val_loss"), loss, 1e-5);
  EXPECT_NEAR(all->metrics.at("val_accuracy"), accuracy, 1e-9);
  FitOptions share;
  share.validation = 1;
  const auto one = evaluate(share);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NE(one->metrics.at("val_loss"), all->metrics.at("val_loss"));
  masks[17] = kClasses;
  EXPECT_THAT(std::string(evaluate({}).status().message()), testing::HasSubstr("example 1"));
}

// The check of the data counts the classes of the second axis.
TEST_F(SegmentationTest, NamesAPixelWhoseClassIsOutOfRange) {
  const auto model = LoadToTrain(PixelsText());
  ASSERT_TRUE(model.ok()) << model.status();
  const TrainerOptions options;
  const auto trainer = Trainer::Create(*model, device_, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<int64_t> masks(kExamples * kPixels, 3);
  masks[40] = 4;
  const auto dataset = data::DatasetOf(
      "data", {{"x", Pictures()},
               {"y", HostTensor::FromVector({DataType::kInt64, {kExamples, 3, 5}}, masks)}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto result = Fit(**trainer, **model, *dataset, options, {}, {});
  EXPECT_THAT(std::string(result.status().message()), testing::HasSubstr("example 2"));
  EXPECT_THAT(std::string(result.status().message()), testing::HasSubstr("4"));
}

}  // namespace
}  // namespace tartan::train::segmentation_test
