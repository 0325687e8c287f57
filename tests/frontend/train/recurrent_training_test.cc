// SPDX-License-Identifier: Apache-2.0
// Tests the form of recurrent operators that is built for training. Its results match inference,
// and its gradients match finite differences.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/api/session.h"
#include "frontend/train/grad_check/grad_check.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::recurrent_training_test {
namespace {

using onnx::Attribute;
using onnx::NodeText;
using onnx::ValueText;

constexpr int64_t kSteps = 6;
constexpr int64_t kBatch = 2;
constexpr int64_t kInputs = 3;
constexpr int64_t kHidden = 4;

struct RecurrentCase {
  std::string name;
  std::string op;
  int64_t gates = 1;
  std::string attributes = "";
  int64_t directions = 1;
  bool has_lengths = false;
  bool has_peepholes = false;
};

// Applies the operator to x[6, 2, 3]; its states after every step are the output.
std::string Graph(const RecurrentCase& c) {
  const int64_t rows = c.gates * kHidden;
  const int64_t d = c.directions;
  std::vector<std::string> operands = {"x", "w", "r", "b"};
  std::string more;
  if (c.has_lengths || c.has_peepholes) operands.emplace_back(c.has_lengths ? "lengths" : "");
  if (c.has_lengths) {
    more = "initializer { name: 'lengths' dims: 2 data_type: 6 int32_data: 6 int32_data: 3 }";
  }
  if (c.has_peepholes) {
    operands.insert(operands.end(), {"", "", "p"});
    absl::StrAppend(&more, InitializerText("p", {d, 3 * kHidden}, 14));
  }
  return absl::StrCat(
      "graph { name: 'recurrent' ", ValueText("input", "x", 1, "6 2 3"), " output { name: 'y' } ",
      InitializerText("w", {d, rows, kInputs}, 11), InitializerText("r", {d, rows, kHidden}, 12),
      InitializerText("b", {d, 2 * rows}, 13), more,
      NodeText(c.op, operands, {"y"}, Attribute("hidden_size", kHidden) + c.attributes), "}");
}

HostTensor Data() { return Floats({kSteps, kBatch, kInputs}, Numbers(36, 5)); }

class RecurrentTrainingTest : public DeviceTest,
                              public testing::WithParamInterface<RecurrentCase> {};

TEST_P(RecurrentTrainingTest, ResultsAreThoseOfInference) {
  const std::string graph = Graph(GetParam());
  const std::string bytes = onnx::ModelBytes(graph);
  const auto plain = onnx::OnnxModel::LoadBytes(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "model", {});
  ASSERT_TRUE(plain.ok()) << plain.status();
  auto session = api::Session::Create(*plain, device_);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto expected = (*session)->Run({{"x", Data()}});
  ASSERT_TRUE(expected.ok()) << expected.status();

  const auto model = LoadToTrain(graph);
  ASSERT_TRUE(model.ok()) << model.status();
  TrainerOptions options;
  options.loss.kind = LossKind::kMse;
  const auto trainer = Trainer::Create(*model, device_, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const HostTensor& y = (*expected)[0];
  const auto evaluation = (*trainer)->Evaluate({{"x", Data()}}, HostTensor::Zeros(y.shape()));
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  ASSERT_EQ(evaluation->output.element_count(), y.element_count());
  for (int64_t i = 0; i < y.element_count(); ++i)
    EXPECT_NEAR(evaluation->output.GetDouble(i), y.GetDouble(i), 2e-6) << i;
}

TEST_P(RecurrentTrainingTest, GradientsAreThoseOfDifferences) {
  if (!device_->info().settings.has_float64) GTEST_SKIP() << "the device has no float64";
  const auto model = LoadToTrain(Graph(GetParam()));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto result =
      CheckModelGradients(**model, device_, {{"x", api::HostValue(Data())}}, {}, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->passed());
  for (const ParameterCheck& check : result->parameters)
    EXPECT_EQ(check.status, GradCheckStatus::kOk) << check.name << " " << check.max_rel_error;
}

std::vector<RecurrentCase> Cases() {
  const std::string both = Attribute("direction", std::string("bidirectional"));
  const std::string clip = Attribute("clip", 0.4F);
  return {
      {"rnn", "RNN", 1},
      {"rnn_both_ways_of_other_lengths", "RNN", 1, both, 2, true},
      {"gru", "GRU", 3},
      {"gru_that_resets_after_the_product", "GRU", 3, Attribute("linear_before_reset", int64_t{1})},
      {"lstm", "LSTM", 4},
      {"lstm_both_ways", "LSTM", 4, both, 2},
      {"lstm_clipped_of_other_lengths", "LSTM", 4, clip, 1, true},
      {"lstm_with_peepholes_and_coupled_gates", "LSTM", 4, Attribute("input_forget", int64_t{1}), 1,
       false, true},
  };
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentTrainingTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::train::recurrent_training_test
