// SPDX-License-Identifier: Apache-2.0
// Tests of the accuracy that training steps accumulate on the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::step_accuracy_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;

class StepAccuracy : public DeviceTest {
 protected:
  // The accuracy of one step of y = x w on `classes`; class 2 is ignored.
  double Of(const std::vector<float>& w, const std::vector<int64_t>& classes) const {
    const auto model = LoadToTrain(absl::StrCat(
        "graph { name: 'linear' ", ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
        InitializerText("w", {5, 3}, w), NodeText("MatMul", {"x", "w"}, {"y"}), "}"));
    EXPECT_TRUE(model.ok()) << model.status();
    TrainerOptions options;
    options.loss.ignore_index = 2;
    const auto trainer = Trainer::Create(*model, device_, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    const auto rows = static_cast<int64_t>(classes.size());
    const HostTensor x =
        Floats({rows, 5}, std::vector<float>(static_cast<size_t>(5 * rows), 0.25F));
    const HostTensor t = HostTensor::FromVector({DataType::kInt64, {rows}}, classes);
    EXPECT_EQ((*trainer)->Step({{"x", x}}, t, 0), absl::OkStatus());
    const auto progress = (*trainer)->Read();
    EXPECT_TRUE(progress.ok()) << progress.status();
    return progress.ok() ? progress->accuracy.value_or(-1) : -1;
  }
};

// With all-zero parameters the scores are equal and class 0 is the prediction, so only examples of
// class 0 count as correct.
TEST_F(StepAccuracy, OfEqualScoresIsTheShareOfTheFirstClass) {
  EXPECT_NEAR(Of(std::vector<float>(15, 0), {0, 1, 1, 0, 2, 1}), 2.0 / 5, 1e-6);
}

TEST_F(StepAccuracy, IsTheShareOfTheClassWithTheMaximalScore) {
  std::vector<float> w(15, 0);
  for (size_t row = 0; row < 5; ++row) w[3 * row + 1] = 1;
  EXPECT_NEAR(Of(w, {0, 1, 1, 0, 2, 1}), 3.0 / 5, 1e-6);
}

}  // namespace
}  // namespace tartan::train::step_accuracy_test
