// SPDX-License-Identifier: Apache-2.0
// Tests of attention, rotary positions and caches beyond the official cases.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::attention_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
const HostTensor kNone;

HostTensor Zeros(std::vector<int64_t> dims) {
  return HostTensor::Zeros(TensorShape{DataType::kFloat32, std::move(dims)});
}

// Irregular values between -1 and 1.
HostTensor Scattered(const std::vector<int64_t>& dims, double seed) {
  std::vector<double> values(static_cast<size_t>(Zeros(dims).element_count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(seed + 12.9898 * static_cast<double>(i * i + 1));
  }
  return Values(dims, values);
}

std::string Int(const std::string& name, int64_t value) { return Attribute(name, value); }

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-5) << "element " << i;
  }
}

TEST(Attention, ShowsAQueryTheKeysUpToItsOwnWhenCausal) {
  // Zero queries give all keys the same weight, so each result is a mean of values.
  const HostTensor v = Values({1, 1, 3, 1}, {3, 6, 12});
  EXPECT_THAT(
      Evaluate(
          {"Attention", 23, {Zeros({1, 1, 3, 2}), Zeros({1, 1, 3, 2}), v}, Int("is_causal", 1)}),
      ElementsAre(3, 4.5, 7));
}

TEST(Attention, RoundsEveryStepInBFloat16AsItsBodyDoes) {
  // Each of 13 keys has the weight 1/13, which bfloat16 rounds to 0.0771484375. The weights add up
  // to 1.0029.
  const auto attend = [](DataType type, const std::string& attributes = "") {
    return Evaluate(
        {"Attention",
         23,
         {Values({1, 1, 1, 1}, {0}, type), Values({1, 1, 13, 1}, std::vector<double>(13), type),
          Values({1, 1, 13, 1}, std::vector<double>(13, 1.9921875), type)},
         attributes});
  };
  EXPECT_THAT(attend(DataType::kBFloat16), ElementsAre(2));
  EXPECT_THAT(attend(DataType::kFloat16), ElementsAre(1.9921875));
  // The cast from the softmax's type adds a rounding.
  EXPECT_THAT(attend(DataType::kBFloat16, Int("softmax_precision", 1)), ElementsAre(2));
  // Query and key are scaled separately by 0.70703125, the rounded root of 1/2, which gives 158/256
  // and 209/128. Half of their unrounded dot result, 259/256, would be rounded up.
  EXPECT_THAT(Evaluate({"Attention",
                        23,
                        {Values({1, 1, 1, 1}, {0.875}, DataType::kBFloat16),
                         Values({1, 1, 1, 1}, {2.3125}, DataType::kBFloat16),
                         Values({1, 1, 1, 1}, {1}, DataType::kBFloat16)},
                        Attribute("scale", 0.5f) + Int("qk_matmul_output_mode", 0),
                        4},
                       3),
              ElementsAre(1.0078125));
}

TEST(Attention, CountsThePastIntoACausalQuerysView) {
  const OperatorCall call = {
      "Attention",
      23,
      {Zeros({1, 1, 2, 1}), Zeros({1, 1, 2, 1}), Values({1, 1, 2, 1}, {6, 8}), kNone,
       Zeros({1, 1, 1, 1}), Values({1, 1, 1, 1}, {4})},
      Int("is_causal", 1),
      3};
  EXPECT_THAT(Evaluate(call), ElementsAre(5, 6));
  EXPECT_THAT(Evaluate(call, 2), ElementsAre(4, 6, 8));
}

TEST(Attention, SharesAHeadOfTheKeyAmongNeighbours) {
  // Three query heads for each of two value heads.
  EXPECT_THAT(
      Evaluate({"Attention",
                23,
                {Zeros({1, 6, 1, 2}), Zeros({1, 2, 2, 2}), Values({1, 2, 2, 1}, {1, 3, 10, 30})}}),
      ElementsAre(2, 2, 2, 20, 20, 20));
}

TEST(Attention, GivesZerosWhereAQuerySeesNothingWhateverTheScores) {
  const HostTensor mask = Values({2, 2}, {0, 0, 1, 0}, DataType::kBool);
  EXPECT_THAT(Evaluate({"Attention",
                        24,
                        {Values({1, 1, 2, 1}, {kNan, 1}), Zeros({1, 1, 2, 1}),
                         Values({1, 1, 2, 1}, {5, 7}), mask}}),
              ElementsAre(0, 5));
  const HostTensor bias = Values({2, 2}, {-kInfinity, -kInfinity, -kInfinity, 0});
  EXPECT_THAT(Evaluate({"Attention",
                        24,
                        {Values({1, 1, 2, 1}, {kNan, 1}), Zeros({1, 1, 2, 1}),
                         Values({1, 1, 2, 1}, {5, 7}), bias}}),
              ElementsAre(0, 7));
}

TEST(Attention, HidesTheKeysBehindAShorterMask) {
  EXPECT_THAT(Evaluate({"Attention",
                        24,
                        {Zeros({1, 1, 1, 1}), Zeros({1, 1, 4, 1}),
                         Values({1, 1, 4, 1}, {1, 2, 50, 70}), Values({1, 2}, {0, 0})}}),
              ElementsAre(1.5));
}

TEST(Attention, PutsTheLastQueryAtTheEndOfEachSamplesKeys) {
  const HostTensor v = Values({2, 1, 3, 1}, {1, 3, 8, 1, 3, 8});
  const HostTensor lengths = Values({2}, {1, 3}, DataType::kInt64);
  const std::vector<api::HostValue> inputs = {
      Zeros({2, 1, 2, 1}), Zeros({2, 1, 3, 1}), v, kNone, kNone, kNone, lengths};
  EXPECT_THAT(Evaluate({"Attention", 24, inputs}), ElementsAre(1, 1, 4, 4));
  // The first query of the first sample is before all keys.
  EXPECT_THAT(Evaluate({"Attention", 24, inputs, Int("is_causal", 1)}), ElementsAre(0, 1, 2, 4));
}

TEST(Attention, LooksThroughAWindow) {
  const std::vector<api::HostValue> inputs = {Zeros({1, 1, 3, 1}), Zeros({1, 1, 3, 1}),
                                              Values({1, 1, 3, 1}, {2, 4, 12})};
  EXPECT_THAT(Evaluate({"Attention", 25, inputs, Int("left_window_size", 1)}),
              ElementsAre(6, 6, 8));
  EXPECT_THAT(
      Evaluate({"Attention", 25, inputs, Int("left_window_size", 0) + Int("right_window_size", 0)}),
      ElementsAre(2, 4, 12));
}

TEST(Attention, AgreesWithItsDefinitionOnOddSizes) {
  constexpr int64_t kQueries = 3, kKeys = 5, kSize = 7, kHeads = 2;
  constexpr double kScale = 0.75, kCap = 1.5;
  const HostTensor q = Scattered({1, kQueries, kHeads * kSize}, 1);
  const HostTensor k = Scattered({1, kKeys, kHeads * kSize}, 2);
  const HostTensor v = Scattered({1, kKeys, kHeads}, 3);
  std::vector<double> expected;
  for (int64_t i = 0; i < kQueries; ++i) {
    for (int64_t h = 0; h < kHeads; ++h) {
      double total = 0;
      double sum = 0;
      for (int64_t j = 0; j < kKeys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < kSize; ++d) {
          score +=
              q.GetDouble((i * kHeads + h) * kSize + d) * k.GetDouble((j * kHeads + h) * kSize + d);
        }
        const double weight = std::exp(kCap * std::tanh(kScale * score / kCap));
        total += weight;
        sum += weight * v.GetDouble(j * kHeads + h);
      }
      expected.push_back(sum / total);
    }
  }
  ExpectNear(Evaluate({"Attention",
                       23,
                       {q, k, v},
                       Int("q_num_heads", kHeads) + Int("kv_num_heads", kHeads) +
                           Attribute("scale", 0.75f) + Attribute("softcap", 1.5f)}),
             expected);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      Error({"Attention", 23, {Zeros({1, 3, 1, 1}), Zeros({1, 2, 1, 1}), Zeros({1, 2, 1, 1})}}),
      HasSubstr("2 heads of the key do not divide 3 heads of the query"));
  EXPECT_THAT(
      Error({"Attention", 23, {Zeros({1, 1, 1, 2}), Zeros({1, 1, 1, 3}), Zeros({1, 1, 1, 3})}}),
      HasSubstr("do not match"));
  EXPECT_THAT(
      Error({"Attention",
             23,
             {Zeros({1, 1, 2, 1}), Zeros({1, 1, 2, 1}), Zeros({1, 1, 2, 1}), Zeros({3, 2})}}),
      HasSubstr("does not broadcast to the scores [1, 1, 2, 2]"));
  EXPECT_THAT(Error({"Attention",
                     23,
                     {Zeros({1, 1, 2, 1}), Zeros({1, 1, 2, 1}), Zeros({1, 1, 2, 1}), kNone,
                      Zeros({1, 1, 2, 1})}}),
              HasSubstr("past key and past value must be given together"));
  EXPECT_THAT(Error({"Attention",
                     23,
                     {Zeros({1, 2, 5}), Zeros({1, 2, 4}), Zeros({1, 2, 4})},
                     Int("q_num_heads", 2) + Int("kv_num_heads", 2)}),
              HasSubstr("expected [batch, positions, 2 heads * size], got float32[1, 2, 5]"));
}

TEST(RotaryEmbedding, RotatesPairsByTheirAngles) {
  // The second position is rotated by a right angle.
  const HostTensor x = Values({1, 1, 2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  const HostTensor cos = Values({1, 2, 2}, {1, 1, 0, 0});
  const HostTensor sin = Values({1, 2, 2}, {0, 0, 1, 1});
  EXPECT_THAT(Evaluate({"RotaryEmbedding", 23, {x, cos, sin}}),
              ElementsAre(1, 2, 3, 4, -3, -4, 1, 2));
  EXPECT_THAT(Evaluate({"RotaryEmbedding", 23, {x, cos, sin}, Int("interleaved", 1)}),
              ElementsAre(1, 2, 3, 4, -2, 1, -4, 3));
}

TEST(RotaryEmbedding, LeavesWhatIsBehindItsSizeAndPicksRowsByPosition) {
  const HostTensor x = Values({1, 1, 1, 3}, {1, 2, 3});
  EXPECT_THAT(Evaluate({"RotaryEmbedding",
                        23,
                        {x, Values({2, 1}, {1, 0}), Values({2, 1}, {0, 1}),
                         Values({1, 1}, {1}, DataType::kInt64)},
                        Int("rotary_embedding_dim", 2)}),
              ElementsAre(-2, 1, 3));
  EXPECT_THAT(Error({"RotaryEmbedding", 23, {x, Zeros({1, 1, 1}), Zeros({1, 1, 1})}}),
              HasSubstr("cannot rotate 3 of 3 elements in pairs"));
}

TEST(TensorScatter, WrapsAroundInTheCircularMode) {
  const std::vector<api::HostValue> inputs = {Values({2, 3, 1}, {1, 2, 3, 4, 5, 6}),
                                              Values({2, 2, 1}, {10, 20, 30, 40}),
                                              Values({2}, {2, 0}, DataType::kInt64)};
  EXPECT_THAT(Evaluate({"TensorScatter", 24, inputs, Attribute("mode", std::string("circular"))}),
              ElementsAre(20, 2, 10, 30, 40, 6));
  EXPECT_THAT(Error({"TensorScatter", 24, {Zeros({1, 2, 1}), Zeros({1, 3, 1})}}),
              HasSubstr("an update of float32[1, 3, 1] for a cache of float32[1, 2, 1]"));
}

TEST(SwiGlu, GatesWithASigmoid) {
  ExpectNear(
      Evaluate(
          {"SwiGLU", 28, {Values({2}, {0, 1}), Values({2}, {5, 2})}, Attribute("alpha", 2.0f)}),
      {0, 2 / (1 + std::exp(-2.0))});
}

}  // namespace
}  // namespace tartan::onnx::attention_test
