// SPDX-License-Identifier: Apache-2.0
// Tests of Dropout nodes in models that were exported for training.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::dropout_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;

class DropoutTest : public DeviceTest {};

// Models that PyTorch exports for training: training_mode is 1, and the mask has a name.
TEST_F(DropoutTest, DropsWhatItsMaskSays) {
  const std::vector<float> half = {0.5f};
  const std::vector<float> two = {2};
  const auto text = [&](const std::string& output) {
    return absl::StrCat(
        "graph { name: 'dropping' ", ValueText("input", "x", 1, "N 5"), " output { name: '", output,
        "' } ", InitializerText("w", {5, 8}, Numbers(40, 1)), InitializerText("ratio", {}, half),
        InitializerText("gain", {}, two),
        "initializer { name: 'training' data_type: 9 int32_data: 1 } ",
        NodeText("MatMul", {"x", "w"}, {"h"}),
        NodeText("Dropout", {"h", "ratio", "training"}, {"y", "mask"}),
        NodeText("Cast", {"mask"}, {"kept"}, "attribute { name: 'to' type: INT i: 1 }"),
        NodeText("Mul", {"h", "kept"}, {"k"}), NodeText("Mul", {"k", "gain"}, {"z"}),
        NodeText("Sub", {"y", "z"}, {"difference"}), "}");
  };
  TrainerOptions options;
  options.loss.kind = LossKind::kMse;
  options.mode.dropout = true;
  const HostTensor x = Images(16, 1);
  const HostTensor zeros = HostTensor::Zeros({DataType::kFloat32, {16, 8}});
  const auto losses = [&](const std::string& output) {
    const auto model = LoadToTrain(text(output));
    EXPECT_TRUE(model.ok()) << model.status();
    const auto made = Trainer::Create(*model, device_, options);
    EXPECT_TRUE(made.ok()) << made.status();
    const auto& trainer = *made;
    std::vector<double> losses;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(trainer->Step({{"x", x}}, zeros, 0), absl::OkStatus());
      losses.push_back(trainer->Read()->loss);
    }
    const auto evaluation = trainer->Evaluate({{"x", x}}, zeros);
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    losses.push_back(evaluation->numerator / evaluation->denominator);
    return losses;
  };
  const std::vector<double> dropped = losses("y");
  EXPECT_NE(dropped[0], dropped[1]);
  const std::vector<double> differences = losses("difference");
  EXPECT_EQ(differences[0], 0);
  EXPECT_EQ(differences[1], 0);
  // Evaluation keeps all elements, which the gain doubles.
  EXPECT_NEAR(differences[2], dropped[2], 1e-6);
}

}  // namespace
}  // namespace tartan::train::dropout_test
