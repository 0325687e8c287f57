// SPDX-License-Identifier: Apache-2.0
// Every form of training on two and four ranks, with each division of the state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/distributed/train_on_ranks.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::distributed::forms_test {
namespace {

using train::Shard;

// Layers of 5, 40 and 3 with a normalisation between them.
std::string NormalizedText() {
  const std::vector<float> ones(40, 1);
  const std::vector<float> zeros(40, 0);
  return absl::StrCat(
      "graph { name: 'normalised' ", onnx::ValueText("input", "x", 1, "N 5"),
      " output { name: 'y' } ", train::InitializerText("w1", {5, 40}, 1),
      train::InitializerText("scale", {40}, ones), train::InitializerText("shift", {40}, zeros),
      train::InitializerText("mean", {40}, zeros), train::InitializerText("variance", {40}, ones),
      train::InitializerText("w2", {40, 3}, 2), onnx::NodeText("MatMul", {"x", "w1"}, {"a"}),
      onnx::NodeText("BatchNormalization", {"a", "scale", "shift", "mean", "variance"}, {"n"}),
      onnx::NodeText("Relu", {"n"}, {"r"}), onnx::NodeText("MatMul", {"r", "w2"}, {"y"}), "}");
}

class Forms : public TrainOnRanks, public testing::WithParamInterface<std::tuple<Shard, int64_t>> {
 protected:
  Forms() {
    std::tie(trainer_.shard, ranks_) = GetParam();
    trainer_.bucket_bytes = 1;  // a bucket for each parameter
    fit_.steps = 12;
  }

  // Compares with ranks that keep the whole state: the same bits.
  void CompareWithWholeStates() {
    const std::vector<Outcome> divided = TrainOn(ranks_);
    trainer_.shard = Shard::kNone;
    const std::vector<Outcome> whole = TrainOn(ranks_);
    for (size_t rank = 0; rank < divided.size(); ++rank) {
      ASSERT_TRUE(divided[rank].status.ok()) << divided[rank].status;
      ASSERT_TRUE(whole[rank].status.ok()) << whole[rank].status;
      EXPECT_EQ(divided[rank].losses(), whole[rank].losses());
      for (const auto& [name, value] : whole[rank].values)
        EXPECT_EQ(divided[rank].values.at(name).ToDoubles(), value.ToDoubles()) << name;
    }
  }

  int64_t ranks_ = 0;
};

// The state is divided.
class DividedForms : public Forms {};

std::string NameOf(const testing::TestParamInfo<std::tuple<Shard, int64_t>>& info) {
  return absl::StrCat(train::Name(std::get<0>(info.param)), "_", std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, Forms,
                         testing::Combine(testing::Values(Shard::kNone, Shard::kOptimizer,
                                                          Shard::kGradients, Shard::kParameters),
                                          testing::Values(2, 4)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(All, DividedForms,
                         testing::Combine(testing::Values(Shard::kOptimizer, Shard::kGradients,
                                                          Shard::kParameters),
                                          testing::Values(2, 4)),
                         NameOf);

TEST_P(Forms, AccumulatedGradientsHaveTheCurveOfOneProcess) {
  trainer_.accumulate = 2;
  CompareWithOneProcess(ranks_);
}

TEST_P(Forms, AnUnevenLastBatchHasTheCurveOfOneProcess) {
  rows_ = 27;  // the last batch of an epoch has three examples
  CompareWithOneProcess(ranks_);
}

TEST_P(DividedForms, BFloat16HasTheBitsOfWholeStates) {
  trainer_.precision = train::Precision::kBFloat16;
  CompareWithWholeStates();
}

TEST_P(DividedForms, BatchNormalizationHasTheBitsOfWholeStates) {
  graph_ = NormalizedText();
  trainer_.mode.batch_norm = true;
  fit_.validation = 10;
  CompareWithWholeStates();
}

}  // namespace
}  // namespace tartan::distributed::forms_test
