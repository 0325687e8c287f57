// SPDX-License-Identifier: Apache-2.0
// Compares Microsoft's operators that onnxruntime supports only on GPUs, or that its tests omit,
// with their documentation.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::microsoft_layers_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OperatorCall Call(const std::string& op, std::vector<api::HostValue> inputs,
                  const std::string& fields = "", int outputs = 1) {
  return {op, 17, std::move(inputs), fields, outputs, "com.microsoft", 1};
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  EXPECT_THAT(actual, Pointwise(DoubleNear(1e-4), expected));
}

HostTensor Ints(std::vector<int64_t> dims, const std::vector<double>& values) {
  return Values(std::move(dims), values, DataType::kInt32);
}
HostTensor Bytes(std::vector<int64_t> dims, const std::vector<double>& values) {
  return Values(std::move(dims), values, DataType::kUInt8);
}

TEST(BiasSoftmax, BroadcastsItsBiasWithinOrBefore) {
  const HostTensor x = Values({2, 2, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
  const HostTensor bias = Values({2, 1, 1, 2}, {0, 0, 0, std::log(3.0)});
  const std::string axis = Attribute("axis", int64_t{3});
  ExpectNear(
      Evaluate(Call("BiasSoftmax", {x, bias}, axis + Attribute("is_inner_broadcast", int64_t{1}))),
      {0.5, 0.5, 0.5, 0.5, 0.25, 0.75, 0.25, 0.75});
  ExpectNear(Evaluate(Call("BiasSoftmax", {x, Values({1, 2, 1, 2}, {0, 0, 0, std::log(3.0)})},
                           axis + Attribute("is_inner_broadcast", int64_t{0}))),
             {0.5, 0.5, 0.25, 0.75, 0.5, 0.5, 0.25, 0.75});
}

TEST(BiasDropout, DropsNothingButInTraining) {
  const HostTensor x = Values({1, 2}, {1, 2});
  const HostTensor no = Values({}, {0}, DataType::kBool);
  const OperatorCall call =
      Call("BiasDropout", {x, Values({2}, {10, 20}), x, Values({}, {0.5}), no}, "", 2);
  EXPECT_THAT(Evaluate(call), ElementsAre(12, 24));
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(1, 1));
}

TEST(BiasDropout, DropsBeforeTheResidualIsAddedWhatItsMaskSays) {
  const HostTensor x = Values({5, 9}, std::vector<double>(45, 1));
  const HostTensor ratio = Values({}, {0.5});
  const HostTensor yes = Values({}, {1}, DataType::kBool);
  const std::vector<api::HostValue> operands = {x, Values({9}, std::vector<double>(9, 2)), x, ratio,
                                                yes};
  const std::string seed = Attribute("seed", int64_t{5});
  const OperatorCall call = Call("BiasDropout", operands, seed, 2);
  const std::vector<double> y = Evaluate(call);
  const std::vector<double> mask = Evaluate(call, 1);
  std::vector<double> words(2, 0);
  double kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], mask[i] != 0 ? 7 : 1) << i;
    kept += mask[i];
    words[i / 32] += std::ldexp(mask[i], static_cast<int>(i % 32));
  }
  EXPECT_GT(kept, 5);
  EXPECT_LT(kept, 40);
  // The same mask packed into bits; the gradient reads the bits.
  EXPECT_EQ(Evaluate(Call("BitmaskBiasDropout", operands, seed, 2), 1), words);
  EXPECT_EQ(Evaluate(Call("BitmaskDropout", {x, ratio, yes}, seed, 2), 1), words);
  const std::vector<double> gradient =
      Evaluate(Call("BitmaskDropoutGrad", {x, Values({2}, words, DataType::kUInt32), ratio, yes}));
  for (size_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient[i], 2 * mask[i]) << i;
}

TEST(BitmaskDropoutGrad, NamesAMaskOfAnotherSize) {
  EXPECT_THAT(Error(Call("BitmaskDropoutGrad", {Values({33}, std::vector<double>(33, 1)),
                                                Values({1}, {7}, DataType::kUInt32)})),
              HasSubstr("expected 2 words of uint32"));
}

TEST(ComplexMul, MultipliesPairs) {
  EXPECT_THAT(Evaluate(Call("ComplexMul", {Values({2, 2}, {1, 2, 0, 1}), Values({1, 2}, {3, 4})})),
              ElementsAre(-5, 10, -4, 3));
}

TEST(IsAllFinite, LooksAtAllOperands) {
  const HostTensor finite = Values({2}, {1, -2});
  const HostTensor nan = Values({1}, {std::nan("")});
  const HostTensor infinite = Values({1}, {-kInfinity});
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {finite, finite})), ElementsAre(1));
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {finite, nan})), ElementsAre(0));
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {infinite, finite})), ElementsAre(0));
  const std::string nan_only = Attribute("isnan_only", int64_t{1});
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {infinite}, nan_only)), ElementsAre(1));
  const std::string infinity_only = Attribute("isinf_only", int64_t{1});
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {nan}, infinity_only)), ElementsAre(1));
  EXPECT_THAT(Evaluate(Call("IsAllFinite", {infinite}, infinity_only)), ElementsAre(0));
}

TEST(MulInteger, SubtractsZeroPointsFirst) {
  EXPECT_THAT(Evaluate(Call("MulInteger", {Bytes({2}, {5, 250}), Bytes({}, {3}), Bytes({1}, {200}),
                                           Bytes({}, {250})})),
              ElementsAre(-100, -12350));
}

TEST(ReduceSumInteger, AddsBytesIn32Bits) {
  const HostTensor y = EvaluateTensor(
      Call("ReduceSumInteger", {Bytes({2, 2}, {200, 100, 1, 2})},
           Attribute("axes", std::vector<int64_t>{1}) + Attribute("keepdims", int64_t{0})));
  EXPECT_EQ(y.shape().ToString(), "uint32[2]");
  EXPECT_THAT(y.ToDoubles(), ElementsAre(300, 3));
}

TEST(QLinearReduceMean, AveragesRealNumbers) {
  const HostTensor y = EvaluateTensor(
      Call("QLinearReduceMean",
           {Bytes({1, 4}, {10, 20, 30, 44}), Values({}, {0.5}), Bytes({}, {10}), Values({}, {0.25}),
            Bytes({}, {5})},
           Attribute("axes", std::vector<int64_t>{1}) + Attribute("keepdims", int64_t{1})));
  EXPECT_EQ(y.shape().ToString(), "uint8[1, 1]");
  EXPECT_THAT(y.ToDoubles(), ElementsAre(37));  // 8 / 0.25 + 5
}

TEST(SkipGroupNorm, AddsSkipAndBiasAndGivesTheSum) {
  const HostTensor x = Values({1, 1, 2, 2}, {1, 2, 3, 4});  // channels last
  const OperatorCall call = Call(
      "SkipGroupNorm",
      {x, Values({2}, {1, 1}), Values({2}, {0, 0}), Values({1, 2}, {1, 2}), Values({2}, {0, 1})},
      Attribute("groups", int64_t{1}) + Attribute("activation", int64_t{0}) +
          Attribute("epsilon", 0.0f),
      2);
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(2, 5, 4, 7));
  ExpectNear(Evaluate(call), {-1.3867505, 0.2773501, -0.2773501, 1.3867505});
}

TEST(TorchEmbedding, PicksRows) {
  EXPECT_THAT(Evaluate(Call("TorchEmbedding", {Values({3, 2}, {1, 2, 3, 4, 5, 6}),
                                               Values({2}, {2, 0}, DataType::kInt64)})),
              ElementsAre(5, 6, 1, 2));
}

TEST(NhwcFusedConv, KeepsChannelsLast) {
  const HostTensor x = Values({1, 1, 2, 2}, {1, 2, 3, 4});
  const HostTensor w = Values({1, 2, 1, 1}, {1, -1});
  const HostTensor added = Values({1, 1, 2, 1}, {2, 0.5});
  EXPECT_THAT(Evaluate(Call("NhwcFusedConv", {x, w, {}, added},
                            Attribute("activation", std::string("Relu")))),
              ElementsAre(1, 0));
}

TEST(GemmaRotaryEmbedding, RotatesQueryAndKey) {
  const double half_pi = std::acos(-1.0) / 2;
  const auto halves = [](const std::vector<double>& values) {
    return Values({1, 1, 1, 2}, values, DataType::kFloat16);
  };
  const OperatorCall call = Call("GemmaRotaryEmbedding",
                                 {Values({1, 1, 2}, {0, half_pi}), halves({1, 2}), halves({3, 4}),
                                  halves({5, 6}), halves({7, 8})},
                                 "", 2);
  EXPECT_THAT(Evaluate(call), Pointwise(DoubleNear(1e-2), {1.0, 4.0}));
  EXPECT_THAT(Evaluate(call, 1), Pointwise(DoubleNear(1e-2), {5.0, 8.0}));
}

TEST(GatedRelativePositionBias, WeighsTheBiasByAGateOfTheQuery) {
  // One head of size 1: gates (q * 1 + 0, q * 2 + 1) of q = 1 + 1.
  const double u = 1 / (1 + std::exp(-2.0));
  const double r = 1 / (1 + std::exp(-5.0));
  const double factor = u * (r * 3 - 1) + 2;
  ExpectNear(Evaluate(Call("GatedRelativePositionBias",
                           {Values({1, 1, 1}, {1}), Values({1}, {1}), Values({1, 1, 1, 1}, {10}),
                            Values({1, 2}, {1, 2}), Values({2}, {0, 1}), Values({1, 1, 1, 1}, {3})},
                           Attribute("num_heads", int64_t{1}))),
             {10 * factor});
}

TEST(NGramRepeatBlock, ForbidsTheWordThatWouldRepeat) {
  // In 1 2 3 1 2, the earlier "1 2" was followed by 3.
  const HostTensor words = Values({1, 5}, {1, 2, 3, 1, 2}, DataType::kInt64);
  const HostTensor scores = Values({1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(
      Evaluate(Call("NGramRepeatBlock", {words, scores}, Attribute("ngram_size", int64_t{3}))),
      ElementsAre(1, 2, 3, -kInfinity));
  EXPECT_THAT(
      Evaluate(Call("NGramRepeatBlock", {words, scores}, Attribute("ngram_size", int64_t{1}))),
      ElementsAre(1, -kInfinity, -kInfinity, -kInfinity));
}

// One head of size 1 whose keys are 0, so all keys have the same weight.
OperatorCall AttendBuffer(const std::vector<double>& values, const api::HostValue& beams) {
  const HostTensor zero = Values({2, 1, 1}, {0, 0});
  return Call("MultiHeadAttention",
              {zero,
               zero,
               Values({2, 1, 1}, {9, 90}),
               {},
               {},
               {},
               Values({2, 1, 4, 1}, std::vector<double>(8, 0)),
               Values({2, 1, 4, 1}, values),
               Ints({1}, {2}),
               beams},
              Attribute("num_heads", int64_t{1}), 3);
}

TEST(MultiHeadAttention, ReadsAsMuchOfABufferAsIsFilled) {
  const OperatorCall call = AttendBuffer({3, 6, 100, 7, 30, 60, 200, 8}, {});
  ExpectNear(Evaluate(call), {6, 60});  // the means of 3, 6, 9 and of 30, 60, 90
  EXPECT_THAT(Evaluate(call, 2), ElementsAre(3, 6, 9, 7, 30, 60, 90, 8));
}

TEST(MultiHeadAttention, TakesThePastOfTheBeamsItCameFrom) {
  const OperatorCall call =
      AttendBuffer({3, 6, 100, 7, 30, 60, 200, 8}, Ints({1, 2, 4}, {0, 1, 0, 0, 0, 1, 0, 0}));
  ExpectNear(Evaluate(call), {24, 51});  // the means of 3, 60, 9 and of 3, 60, 90
}

// Tokens use the weights of all experts or, for few tokens, only the chosen ones.
TEST(MoE, GivesTheSameForFewTokensAndForMany) {
  const std::vector<double> router = {5, 1, 0, -5};
  const HostTensor first = Values({4, 1, 1}, {2, 3, 5, 7});
  const HostTensor second = Values({4, 1, 1}, {10, 100, 1000, 10000});
  const std::string fields =
      Attribute("k", int64_t{2}) + Attribute("normalize_routing_weights", int64_t{1});
  const double share = 1 / (1 + std::exp(-4.0));
  const double expected = share * 20 + (1 - share) * 300;
  ExpectNear(Evaluate(Call("MoE", {Values({1, 1}, {1}), Values({1, 4}, router), first, {}, second},
                           fields)),
             {expected});
  std::vector<double> routers;
  for (int i = 0; i < 3; ++i) routers.insert(routers.end(), router.begin(), router.end());
  ExpectNear(
      Evaluate(Call("MoE", {Values({3, 1}, {1, 2, 0}), Values({3, 4}, routers), first, {}, second},
                    fields)),
      {expected, 2 * expected, 0});
}

TEST(MoE, SaysWhatItDoesNotDo) {
  const HostTensor weights = Values({1, 1, 1}, {1});
  const HostTensor x = Values({1, 1}, {1});
  EXPECT_THAT(Error(Call("MoE", {x, x, weights, {}, weights}, Attribute("k", int64_t{2}))),
              HasSubstr("'k' is 2 of 1 experts"));
  EXPECT_THAT(Error(Call("MoE", {x, x, weights})), HasSubstr("weights of fc1 or fc2"));
  EXPECT_THAT(Error(Call("QMoE", {x, x, weights, {}, {}, weights},
                         Attribute("quant_type", std::string("fp4")))),
              HasSubstr("'quant_type' is fp4"));
}

}  // namespace
}  // namespace tartan::onnx::microsoft_layers_test
