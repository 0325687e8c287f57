// SPDX-License-Identifier: Apache-2.0
// Compares operators with a state along their sequence with their definitions.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::linear_attention_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const HostTensor kNone;

HostTensor Scattered(const std::vector<int64_t>& dims, double seed) {
  const TensorShape shape{DataType::kFloat32, dims};
  std::vector<double> values(static_cast<size_t>(shape.element_count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.5 * std::sin(seed + 12.9898 * static_cast<double>(i * i + 1));
  }
  return Values(dims, values);
}

std::vector<HostTensor> EvaluateAll(const OperatorCall& call) {
  const auto outputs = RunOperator(call);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return {Values({0}, {}), Values({0}, {})};
  }
  return *outputs;
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-5) << "element " << i;
  }
}

constexpr int64_t kKeySize = 3, kValueSize = 2, kHeads = 2, kPerKey = 2;

// The outputs and the last state of one sample.
struct Recurrence {
  std::vector<double> outputs;
  std::vector<double> state = std::vector<double>(kHeads * kKeySize * kValueSize, 0);
};

Recurrence Define(int64_t steps, const HostTensor& q, const HostTensor& k, const HostTensor& v,
                  const HostTensor* decay, const HostTensor* beta) {
  Recurrence made;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t h = 0; h < kHeads; ++h) {
      double* s = &made.state[static_cast<size_t>(h * kKeySize * kValueSize)];
      const auto key = [&](int64_t d) { return k.GetDouble((t * kHeads + h) * kKeySize + d); };
      for (int64_t m = 0; m < kValueSize; ++m) {
        double recalled = 0;
        for (int64_t d = 0; d < kKeySize; ++d) {
          if (decay) s[d * kValueSize + m] *= std::exp(decay->GetDouble(t * kHeads + h));
          recalled += s[d * kValueSize + m] * key(d);
        }
        double news = v.GetDouble((t * kHeads + h) * kValueSize + m);
        if (beta) news = beta->GetDouble(t * kHeads + h) * (news - recalled);
        for (int64_t d = 0; d < kKeySize; ++d) s[d * kValueSize + m] += key(d) * news;
      }
      for (int64_t r = 0; r < kPerKey; ++r) {
        for (int64_t m = 0; m < kValueSize; ++m) {
          double sum = 0;
          for (int64_t d = 0; d < kKeySize; ++d) {
            sum += q.GetDouble(((t * kHeads + h) * kPerKey + r) * kKeySize + d) *
                   s[d * kValueSize + m];
          }
          made.outputs.push_back(sum / std::sqrt(static_cast<double>(kKeySize)));
        }
      }
    }
  }
  return made;
}

class LinearAttentionRule : public testing::TestWithParam<const char*> {};

TEST_P(LinearAttentionRule, AgreesWithItsRecurrence) {
  const std::string rule = GetParam();
  const bool has_decay = rule == "gated" || rule == "gated_delta";
  const bool has_beta = rule == "delta" || rule == "gated_delta";
  for (const int64_t steps : {1, 3, 7}) {
    const HostTensor q = Scattered({1, steps, kHeads * kPerKey * kKeySize}, 1);
    const HostTensor k = Scattered({1, steps, kHeads * kKeySize}, 2);
    const HostTensor v = Scattered({1, steps, kHeads * kValueSize}, 3);
    const HostTensor decay = Scattered({1, steps, kHeads}, 4);
    const HostTensor beta = Scattered({1, steps, kHeads}, 5);
    const Recurrence expected =
        Define(steps, q, k, v, has_decay ? &decay : nullptr, has_beta ? &beta : nullptr);
    const std::vector<HostTensor> made =
        EvaluateAll({"LinearAttention",
                     27,
                     {q, k, v, kNone, has_decay ? decay : kNone, has_beta ? beta : kNone},
                     Attribute("q_num_heads", kHeads * kPerKey) +
                         Attribute("kv_num_heads", kHeads) + Attribute("update_rule", rule),
                     2});
    ExpectNear(made[0].ToDoubles(), expected.outputs);
    ExpectNear(made[1].ToDoubles(), expected.state);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, LinearAttentionRule,
                         testing::Values("linear", "gated", "delta", "gated_delta"));

TEST(LinearAttention, GoesOnFromAGivenState) {
  // One head, one element: the state 10 becomes 10 + 2 * 3.
  const std::string fields = Attribute("q_num_heads", int64_t{1}) +
                             Attribute("kv_num_heads", int64_t{1}) +
                             Attribute("update_rule", std::string("linear"));
  const std::vector<HostTensor> made =
      EvaluateAll({"LinearAttention",
                   27,
                   {Values({1, 1, 1}, {0.5}), Values({1, 1, 1}, {2}), Values({1, 1, 1}, {3}),
                    Values({1, 1, 1, 1}, {10})},
                   fields,
                   2});
  EXPECT_THAT(made[0].ToDoubles(), ElementsAre(8));
  EXPECT_THAT(made[1].ToDoubles(), ElementsAre(16));
}

TEST(LinearAttention, RefusesARuleWithoutItsOperands) {
  const std::string heads =
      Attribute("q_num_heads", int64_t{1}) + Attribute("kv_num_heads", int64_t{1});
  const HostTensor x = Values({1, 1, 1}, {1});
  EXPECT_THAT(Error({"LinearAttention", 27, {x, x, x}, heads}),
              HasSubstr("rule 'gated_delta' needs operand 4"));
  EXPECT_THAT(Error({"LinearAttention",
                     27,
                     {x, x, x, kNone, x},
                     heads + Attribute("update_rule", std::string("linear"))}),
              HasSubstr("rule 'linear' has no operand 4"));
  EXPECT_THAT(Error({"LinearAttention",
                     27,
                     {x, x, Values({1, 2, 1}, {1, 1})},
                     heads + Attribute("update_rule", std::string("linear"))}),
              HasSubstr("operand 2 is float32[1, 2, 1], expected 1 by 1 rows of 1"));
}

TEST(CausalConvWithState, RemembersTheElementsBeforeItsInput) {
  // y[t] = x[t - 2] + 10 x[t - 1] + 100 x[t].
  const HostTensor w = Values({1, 1, 3}, {1, 10, 100});
  const std::vector<HostTensor> made =
      EvaluateAll({"CausalConvWithState",
                   27,
                   {Values({1, 1, 1}, {5}), w, Values({1}, {1000}), Values({1, 1, 2}, {3, 4})},
                   "",
                   2});
  EXPECT_THAT(made[0].ToDoubles(), ElementsAre(1543));
  EXPECT_THAT(made[1].ToDoubles(), ElementsAre(4, 5));
  EXPECT_THAT(
      EvaluateAll({"CausalConvWithState", 27, {Values({1, 1, 4}, {1, 2, 3, 4}), w}})[0].ToDoubles(),
      ElementsAre(100, 210, 321, 432));
  EXPECT_THAT(Error({"CausalConvWithState", 27, {Values({1, 2, 1}, {5, 5}), w}}),
              HasSubstr("weights float32[1, 1, 3] for float32[1, 2, 1]"));
}

}  // namespace
}  // namespace tartan::onnx::linear_attention_test
