// SPDX-License-Identifier: Apache-2.0
// Compares Microsoft's attention operators with their documentation, on numbers that can be checked
// by hand.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::microsoft_attention_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const HostTensor kNone;

HostTensor Zeros(std::vector<int64_t> dims) {
  return HostTensor::Zeros(TensorShape{DataType::kFloat32, std::move(dims)});
}

HostTensor Ints(std::vector<int64_t> dims, const std::vector<double>& values) {
  return Values(std::move(dims), values, DataType::kInt32);
}

std::string Int(const std::string& name, int64_t value) { return Attribute(name, value); }

OperatorCall Call(const std::string& op, std::vector<api::HostValue> inputs,
                  const std::string& fields = "", int outputs = 1) {
  return {op, 1, std::move(inputs), fields, outputs, "com.microsoft"};
}

// Weights that make query and key 0 and the value the input, so each result is a mean over the
// visible keys.
HostTensor ValueWeights() { return Values({1, 3}, {0, 0, 1}); }

TEST(MicrosoftAttention, ProjectsItsInputAndKeepsThePast) {
  const OperatorCall call = Call("Attention",
                                 {Values({1, 2, 1}, {3, 6}), ValueWeights(), Values({3}, {0, 0, 1}),
                                  kNone, Values({2, 1, 1, 1, 1}, {0, 10})},
                                 Int("num_heads", 1) + Int("unidirectional", 1), 2);
  EXPECT_THAT(Evaluate(call), ElementsAre(7, 7));
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(0, 0, 0, 10, 4, 7));
}

TEST(MicrosoftAttention, HidesWhatAMaskOfAnyFormHides) {
  const HostTensor x = Values({1, 3, 1}, {3, 6, 12});
  const auto attend = [&](const HostTensor& mask) {
    return Evaluate(Call("Attention", {x, ValueWeights(), kNone, mask}, Int("num_heads", 1)));
  };
  EXPECT_THAT(attend(Ints({1, 3}, {0, 1, 1})), ElementsAre(9, 9, 9));
  EXPECT_THAT(attend(Ints({1, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1})), ElementsAre(3, 4.5, 7));
  EXPECT_THAT(attend(Ints({1}, {2})), ElementsAre(4.5, 4.5, 4.5));
  // The end positions, then the start positions.
  EXPECT_THAT(attend(Ints({2}, {2, 1})), ElementsAre(6, 6, 6));
  EXPECT_THAT(Error(Call("Attention", {x, ValueWeights(), kNone, Ints({5}, {0, 0, 0, 0, 0})},
                         Int("num_heads", 1))),
              HasSubstr("a mask of int32[5] for 1 samples of 3 queries and 3 keys"));
}

TEST(MicrosoftAttention, TakesHeadsOfDifferentSizes) {
  EXPECT_THAT(Evaluate(Call("Attention", {Values({1, 1, 1}, {2}), Values({1, 4}, {1, 1, 5, 7})},
                            Int("num_heads", 1) +
                                Attribute("qkv_hidden_sizes", std::vector<int64_t>{1, 1, 2}))),
              ElementsAre(10, 14));
}

TEST(QAttention, ProjectsExactly) {
  // The input is 2 * (5 - 2), the weights of the value are 0.5 * (9 - 1).
  EXPECT_THAT(Evaluate(Call("QAttention",
                            {Values({1, 1, 1}, {5}, DataType::kUInt8),
                             Values({1, 3}, {1, 1, 9}, DataType::kUInt8), Values({3}, {0, 0, 100}),
                             Values({}, {2}), Values({}, {0.5}), kNone,
                             Values({}, {2}, DataType::kUInt8), Values({}, {1}, DataType::kUInt8)},
                            Int("num_heads", 1))),
              ElementsAre(124));
}

TEST(MultiHeadAttention, TakesQueryKeyAndValueInEachOfItsForms) {
  const std::string heads = Int("num_heads", 2);
  const std::vector<double> values = {1, 10, 3, 30};
  const HostTensor q = Zeros({1, 1, 2});
  EXPECT_THAT(
      Evaluate(Call("MultiHeadAttention", {q, Zeros({1, 2, 2}), Values({1, 2, 2}, values)}, heads)),
      ElementsAre(2, 20));
  EXPECT_THAT(Evaluate(Call("MultiHeadAttention",
                            {q, Zeros({1, 2, 2, 1}), Values({1, 2, 2, 1}, {1, 3, 10, 30})}, heads)),
              ElementsAre(2, 20));
  EXPECT_THAT(Evaluate(Call("MultiHeadAttention",
                            {q, Values({1, 2, 2, 2, 1}, {0, 1, 0, 10, 0, 3, 0, 30})}, heads)),
              ElementsAre(2, 20));
  EXPECT_THAT(
      Evaluate(Call("MultiHeadAttention", {Values({1, 1, 2, 3, 1}, {0, 0, 4, 0, 0, 5})}, heads)),
      ElementsAre(4, 5));
  EXPECT_THAT(Error(Call("MultiHeadAttention", {q}, heads)), HasSubstr("the key, is missing"));
}

TEST(MultiHeadAttention, AddsItsBiasesAndGoesOnFromThePast) {
  const OperatorCall call =
      Call("MultiHeadAttention",
           {Zeros({1, 1, 1}), Zeros({1, 1, 1}), Values({1, 1, 1}, {2}), Values({3}, {1, 1, 5}),
            Ints({1, 2}, {1, 1}), Values({1, 1, 1, 2}, {std::log(3.0) + 1, 0}),
            Values({1, 1, 1, 1}, {0}), Values({1, 1, 1, 1}, {3})},
           Int("num_heads", 1), 3);
  // Scores are 0 and 1 before the bias, which makes the weights 3 to 1.
  EXPECT_THAT(Evaluate(call), Pointwise(DoubleNear(1e-5), {4.0}));
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(0, 1));
  EXPECT_THAT(Evaluate(call, 2), ElementsAre(3, 7));
}

TEST(GroupQueryAttention, WritesEachSamplesKeysBehindItsPast) {
  // The first sample has one key in the cache, the second has two.
  const OperatorCall call =
      Call("GroupQueryAttention",
           {Zeros({2, 1, 2}), Zeros({2, 1, 1}), Values({2, 1, 1}, {5, 9}), Zeros({2, 1, 2, 1}),
            Values({2, 1, 2, 1}, {1, 0, 3, 6}), Ints({2}, {1, 2}), Ints({}, {3})},
           Int("num_heads", 2) + Int("kv_num_heads", 1), 3);
  EXPECT_THAT(Evaluate(call), ElementsAre(3, 3, 6, 6));
  EXPECT_THAT(Evaluate(call, 2), ElementsAre(1, 5, 0, 3, 6, 9));
}

TEST(GroupQueryAttention, IsCausalWithinAWindowAndSplitsAPackedOperand) {
  // Query, key and value of one element each.
  const HostTensor packed = Values({1, 3, 3}, {0, 0, 2, 0, 0, 4, 0, 0, 12});
  const std::string heads = Int("num_heads", 1) + Int("kv_num_heads", 1);
  const std::vector<api::HostValue> inputs = {packed, kNone,          kNone,        kNone,
                                              kNone,  Ints({1}, {2}), Ints({}, {3})};
  EXPECT_THAT(Evaluate(Call("GroupQueryAttention", inputs, heads)), ElementsAre(2, 3, 6));
  EXPECT_THAT(Evaluate(Call("GroupQueryAttention", inputs, heads + Int("local_window_size", 2))),
              ElementsAre(2, 3, 8));
  // A sink of score 0 takes the weight of one key.
  EXPECT_THAT(Evaluate(Call("GroupQueryAttention", inputs, heads + Int("smooth_softmax", 1))),
              ElementsAre(1, 2, 4.5));
}

TEST(GroupQueryAttention, RotatesQueryAndKeyByTheirPositions) {
  // The pair turns by a right angle at position 1 and by two at position 2. Key 1 and query 2
  // differ by one right angle.
  const HostTensor cos = Values({3, 1}, {1, 0, -1});
  const HostTensor sin = Values({3, 1}, {0, 1, 0});
  const OperatorCall call = Call(
      "GroupQueryAttention",
      {Values({1, 1, 2}, {1, 0}), Values({1, 1, 2}, {1, 0}), Values({1, 1, 2}, {8, 8}),
       Values({1, 1, 1, 2}, {0, 0}), Values({1, 1, 1, 2}, {0, 0}), Ints({1}, {1}), Ints({}, {2}),
       cos, sin},
      Int("num_heads", 1) + Int("kv_num_heads", 1) + Int("do_rotary", 1) + Attribute("scale", 1.0f),
      2);
  const double weight = std::exp(1.0) / (std::exp(1.0) + 1);
  EXPECT_THAT(Evaluate(call), Pointwise(DoubleNear(1e-5), {8 * weight, 8 * weight}));
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(0, 0, 0, 1));
}

TEST(MicrosoftRotaryEmbedding, CountsFromOnePositionOn) {
  const HostTensor cos = Values({3, 1}, {1, 0, -1});
  const HostTensor sin = Values({3, 1}, {0, 1, 0});
  const HostTensor x = Values({1, 2, 2}, {1, 2, 1, 2});
  EXPECT_THAT(Evaluate(Call("RotaryEmbedding", {x, Values({1}, {1}, DataType::kInt64), cos, sin})),
              ElementsAre(-2, 1, -1, -2));
  EXPECT_THAT(
      Evaluate(Call("RotaryEmbedding", {x, Values({1, 2}, {2, 0}, DataType::kInt64), cos, sin})),
      ElementsAre(-1, -2, 1, 2));
}

}  // namespace
}  // namespace tartan::onnx::microsoft_attention_test
