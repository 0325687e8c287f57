// SPDX-License-Identifier: Apache-2.0
// Tests of operators on quantized values beyond the official cases.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::quantized_operators_test {
namespace {

using ::testing::ElementsAre;

TEST(QuantizeLinear, RoundsTiesToEvenAndSaturates) {
  const HostTensor y = EvaluateTensor({"QuantizeLinear",
                                       13,
                                       {Values({5}, {0.5, 1.5, -2.5, 300, -300}), Values({}, {1}),
                                        Values({}, {0}, DataType::kInt8)}});
  EXPECT_THAT(y.ToInts(), ElementsAre(0, 2, -2, 127, -128));
}

TEST(DequantizeLinear, TakesAScaleAndAZeroPointOfDifferentRank) {
  const HostTensor y = EvaluateTensor({"DequantizeLinear",
                                       13,
                                       {Values({2}, {7, 9}, DataType::kInt32), Values({1}, {2}),
                                        Values({}, {5}, DataType::kInt32)}});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(4, 8));
}

TEST(DequantizeLinear, TakesAScalePerBlock) {
  const HostTensor y =
      EvaluateTensor({"DequantizeLinear",
                      21,
                      {Values({1, 4}, {1, 2, 3, 4}, DataType::kInt8), Values({1, 2}, {1, 10}),
                       Values({1, 2}, {0, 1}, DataType::kInt8)},
                      Attribute("axis", int64_t{1}) + Attribute("block_size", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 2, 20, 30));
}

TEST(QLinearConv, TakesAScaleAndAZeroPointPerOutputChannel) {
  const HostTensor y = EvaluateTensor(
      {"QLinearConv",
       13,
       {Values({1, 1, 2}, {3, 5}, DataType::kUInt8), Values({}, {0.5}),
        Values({}, {1}, DataType::kUInt8), Values({2, 1, 1}, {2, 4}, DataType::kInt8),
        Values({2}, {1, 2}), Values({2}, {0, 1}, DataType::kInt8), Values({}, {1}),
        Values({}, {100}, DataType::kUInt8), Values({2}, {10, 0}, DataType::kInt32)}});
  // ((3-1)*2 + 10) * 0.5 = 7, (8 + 10) * 0.5 = 9; (2*3) * 1 = 6, (4*3) * 1 = 12.
  EXPECT_THAT(y.ToInts(), ElementsAre(107, 109, 106, 112));
}

TEST(QLinearAdd, RoundsOnceAtTheEnd) {
  const HostTensor scale = Values({}, {0.5});
  const HostTensor y = EvaluateTensor(
      {"QLinearAdd",
       13,
       {Values({2}, {3, 255}, DataType::kUInt8), scale, Values({}, {0}, DataType::kUInt8),
        Values({2}, {5, 255}, DataType::kUInt8), scale, Values({}, {2}, DataType::kUInt8),
        Values({}, {1}), Values({}, {10}, DataType::kUInt8)},
       "",
       1,
       "com.microsoft"});
  // 1.5 + 1.5 = 3; 127.5 + 126.5 = 254 saturates.
  EXPECT_THAT(y.ToInts(), ElementsAre(13, 255));
}

TEST(QLinearAveragePool, PoolsTheRealNumbers) {
  const OperatorCall call = {
      "QLinearAveragePool",
      13,
      {Values({1, 1, 4}, {1, 3, 5, 6}, DataType::kUInt8), Values({}, {2}),
       Values({}, {1}, DataType::kUInt8), Values({}, {1}), Values({}, {7}, DataType::kUInt8)},
      Attribute("kernel_shape", std::vector<int64_t>{2}) +
          Attribute("strides", std::vector<int64_t>{2}),
      1,
      "com.microsoft"};
  EXPECT_THAT(EvaluateTensor(call).ToInts(), ElementsAre(9, 16));
  OperatorCall all = call;
  all.op = "QLinearGlobalAveragePool";
  all.fields = "";
  // The mean of 0, 4, 8 and 10 is 5.5, which rounds to 6.
  EXPECT_THAT(EvaluateTensor(all).ToInts(), ElementsAre(13));
}

TEST(QLinearGlobalAveragePool, FindsChannelsLast) {
  const auto pool = [](int64_t channels_last) {
    return EvaluateTensor(
        {"QLinearGlobalAveragePool",
         13,
         {Values({1, 2, 3}, {0, 10, 2, 12, 4, 14}, DataType::kUInt8), Values({}, {1}),
          Values({}, {0}, DataType::kUInt8), Values({}, {1}), Values({}, {0}, DataType::kUInt8)},
         Attribute("channels_last", channels_last),
         1,
         "com.microsoft"});
  };
  EXPECT_EQ(pool(0).shape().dims, std::vector<int64_t>({1, 2, 1}));
  EXPECT_THAT(pool(0).ToInts(), ElementsAre(4, 10));
  EXPECT_EQ(pool(1).shape().dims, std::vector<int64_t>({1, 1, 3}));
  EXPECT_THAT(pool(1).ToInts(), ElementsAre(6, 7, 8));
}

TEST(QLinearSoftmax, QuantizesProbabilities) {
  const HostTensor y = EvaluateTensor({"QLinearSoftmax",
                                       13,
                                       {Values({1, 2}, {7, 7}, DataType::kUInt8), Values({}, {1}),
                                        Values({}, {0}, DataType::kUInt8), Values({}, {1.0 / 256}),
                                        Values({}, {0}, DataType::kUInt8)},
                                       Attribute("opset", int64_t{13}),
                                       1,
                                       "com.microsoft"});
  EXPECT_THAT(y.ToInts(), ElementsAre(128, 128));
}

TEST(MatMulIntegerToFloat, ScalesColumnsAndAddsTheBias) {
  const HostTensor y = EvaluateTensor(
      {"MatMulIntegerToFloat",
       13,
       {Values({1, 2}, {3, 4}, DataType::kUInt8), Values({2, 2}, {1, 2, 3, 4}, DataType::kInt8),
        Values({}, {0.5}), Values({2}, {1, 10}), Values({}, {1}, DataType::kUInt8), HostTensor(),
        Values({2}, {0, 100})},
       "",
       1,
       "com.microsoft"});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(5.5, 180));
}

TEST(DynamicQuantizeMatMul, QuantizesTheLeftFactorByItsRange) {
  const HostTensor y = EvaluateTensor(
      {"DynamicQuantizeMatMul",
       13,
       {Values({1, 2}, {0, 255}), Values({2, 1}, {1, 2}, DataType::kUInt8), Values({}, {0.5})},
       "",
       1,
       "com.microsoft"});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(255));
}

}  // namespace
}  // namespace tartan::onnx::quantized_operators_test
