// SPDX-License-Identifier: Apache-2.0
// Tests that training under a memory budget gives the same bits with less memory, or an error with
// the minimum budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/train/training_curves.h"
#include "tile/compiler/compile_options.h"

namespace tartan::train::memory_budget_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Options with batch statistics (for networks that have them) and dropout.
TrainerOptions OptionsOf(OptimizerKind kind, int64_t budget) {
  TrainerOptions options;
  options.mode.batch_norm = true;
  options.mode.dropout = true;
  options.optimizer.kind = kind;
  options.optimizer.decay = 0.01;
  if (kind == OptimizerKind::kAdamW) options.clip_norm = 1;
  options.memory_budget = budget;
  options.seed = 5;
  return options;
}

struct Case {
  std::string network;
  OptimizerKind optimizer = OptimizerKind::kSgd;
  compiler::Tier tier = compiler::Tier::kReady;
  // name of a value that gets dropout, in a network without dropout nodes
  std::string dropout_at = {};
};

std::string NameOf(const Case& named) {
  const bool is_exact = named.tier == compiler::Tier::kExact;
  return absl::StrCat(named.network, "_", Name(named.optimizer), is_exact ? "" : "_ready");
}

std::ostream& operator<<(std::ostream& out, const Case& named) { return out << NameOf(named); }

class MemoryBudgetTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto device = api::Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = (*device)->WithTier(GetParam().tier);
    curves_ = ReadCurves(GetParam().network);
  }

  struct Trained {
    absl::Status status;
    TrainerState state;
    double loss = 0;
    Trainer::Memory memory;
    int64_t allocated = 0;
  };

  Trained Train(int64_t budget) const {
    Trained trained;
    const int64_t before = device_->hal()->statistics().allocated_bytes;
    const auto model = LoadToTrain(curves_);
    EXPECT_TRUE(model.ok()) << model.status();
    TrainerOptions options = OptionsOf(GetParam().optimizer, budget);
    if (!GetParam().dropout_at.empty()) options.mode.dropout_of[GetParam().dropout_at] = 0.25;
    const auto trainer = Trainer::Create(*model, device_, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    for (int step = 0; step < 3; ++step) {
      const Batch batch = BatchOf(curves_, step);
      trained.status = (*trainer)->Step(batch.inputs, batch.target, 1e-2);
      if (!trained.status.ok()) return trained;
    }
    const auto progress = (*trainer)->Read();
    EXPECT_TRUE(progress.ok()) << progress.status();
    trained.loss = progress->loss;
    const auto state = (*trainer)->Save();
    EXPECT_TRUE(state.ok()) << state.status();
    trained.state = *state;
    trained.memory = (*trainer)->memory();
    trained.allocated = device_->hal()->statistics().allocated_bytes - before;
    return trained;
  }

  // The number of bytes after "needs " in the message, which is the smallest possible budget.
  static int64_t LeastOf(const absl::Status& status) {
    const std::string message(status.message());
    const size_t at = message.find("needs ");
    EXPECT_NE(at, std::string::npos) << message;
    return std::strtoll(message.c_str() + at + 6, nullptr, 10);
  }

  std::shared_ptr<api::Device> device_;
  Curves curves_;
};

TEST_P(MemoryBudgetTest, ResultsAreTheSameBitsWithLessMemory) {
  const Trained free = Train(0);
  ASSERT_TRUE(free.status.ok()) << free.status;
  EXPECT_EQ(free.memory.recomputed_steps, 0);

  const Trained none = Train(1);
  EXPECT_EQ(none.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(none.status.message()),
              AllOf(HasSubstr("budget of 1 bytes"), HasSubstr("parameters "),
                    HasSubstr("optimizer "), HasSubstr("kept values "), HasSubstr("scratch ")));
  const int64_t least = LeastOf(none.status);
  const int64_t most = free.memory.total();
  ASSERT_LT(least, most);
  for (const int64_t budget : {most, most - 1, (least + most) / 2, least}) {
    SCOPED_TRACE(absl::StrCat("budget ", budget, " of ", most));
    const Trained trained = Train(budget);
    ASSERT_TRUE(trained.status.ok()) << trained.status;
    EXPECT_LE(trained.memory.total(), budget);
    EXPECT_EQ(trained.allocated, trained.memory.total());
    EXPECT_EQ(trained.memory.recomputed_steps > 0, budget < most);
    EXPECT_EQ(trained.memory.recomputed_ms > 0, budget < most);
    EXPECT_GE(trained.memory.recomputed_bytes, budget < most ? 1 : 0);
    EXPECT_EQ(trained.loss, free.loss);
    ASSERT_EQ(trained.state.tensors.size(), free.state.tensors.size());
    for (const auto& [name, tensor] : free.state.tensors)
      EXPECT_EQ(trained.state.tensors.at(name).bytes(), tensor.bytes()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, MemoryBudgetTest,
    testing::Values(Case{"cnn", OptimizerKind::kLamb, compiler::Tier::kReady, "relu13"},
                    Case{"cnn", OptimizerKind::kAdamW, compiler::Tier::kExact},
                    Case{"cnn", OptimizerKind::kMomentum, compiler::Tier::kReady, "relu2"},
                    Case{"resnet18", OptimizerKind::kSgd},
                    Case{"transformer", OptimizerKind::kAdamW, compiler::Tier::kReady,
                         "softmax20"}),
    [](const auto& named) { return NameOf(named.param); });

}  // namespace
}  // namespace tartan::train::memory_budget_test
