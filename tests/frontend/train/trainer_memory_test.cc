// SPDX-License-Identifier: Apache-2.0
// Tests that the memory reported by a trainer equals the memory allocated on the device.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::trainer_memory_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;

class TrainerMemoryTest : public DeviceTest {};

// The network relu(x[N, 5] W1 + b1) W2 + b2: y[N, 3].
std::string Network() {
  return absl::StrCat("graph { name: 'mlp' ", ValueText("input", "x", 1, "N 5"),
                      " output { name: 'y' } ", InitializerText("w1", {5, 8}, 1),
                      InitializerText("b1", {8}, 2), InitializerText("w2", {8, 3}, 3),
                      InitializerText("b2", {3}, 4), NodeText("MatMul", {"x", "w1"}, {"h0"}),
                      NodeText("Add", {"h0", "b1"}, {"h1"}), NodeText("Relu", {"h1"}, {"h2"}),
                      NodeText("MatMul", {"h2", "w2"}, {"h4"}),
                      NodeText("Add", {"h4", "b2"}, {"y"}), "}");
}

TEST_F(TrainerMemoryTest, IsWhatTheDeviceHolds) {
  const auto model = LoadToTrain(Network());
  ASSERT_TRUE(model.ok()) << model.status();
  for (const int64_t accumulate : {1, 2}) {
    const int64_t before = device_->hal()->statistics().allocated_bytes;
    TrainerOptions options;
    options.accumulate = accumulate;
    const auto trainer = Trainer::Create(*model, device_, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto images = [](int64_t count) {
      return Floats({count, 5}, Numbers(static_cast<size_t>(5 * count), 5));
    };
    const auto classes = [](int64_t count) {
      std::vector<int64_t> values(static_cast<size_t>(count));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 3);
      return HostTensor::FromVector({DataType::kInt64, {count}}, values);
    };
    for (const int64_t batch : {64, 128, 32}) {  // all batch sizes share one scratch buffer
      for (int64_t i = 0; i < accumulate; ++i) {
        const absl::Status status = (*trainer)->Step({{"x", images(batch)}}, classes(batch), 0.1);
        ASSERT_TRUE(status.ok()) << status;
      }
    }
    ASSERT_TRUE((*trainer)->Evaluate({{"x", images(64)}}, classes(64)).ok());
    const Trainer::Memory memory = (*trainer)->memory();
    EXPECT_EQ(memory.parameters, 4 * (40 + 8 + 24 + 3));
    // Two averages, gradient sums, the sums of step_sums.h and the count of skipped steps.
    EXPECT_GE(memory.state, (accumulate > 1 ? 3 : 2) * memory.parameters);
    // The part of a batch that is allocated at the peak, which may be less than the whole batch.
    EXPECT_GT(memory.batch, 0);
    EXPECT_GE(memory.batch + memory.kept + memory.scratch, 128 * (5 * 4 + 8));
    EXPECT_GE(memory.kept + memory.scratch, 128 * 8 * 4);  // the output of relu
    const int64_t held = device_->hal()->statistics().allocated_bytes - before;
    EXPECT_EQ(held, memory.total()) << "accumulate " << accumulate;
  }
}

}  // namespace
}  // namespace tartan::train::trainer_memory_test
