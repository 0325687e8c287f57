// SPDX-License-Identifier: Apache-2.0
// Tests of neural network operators beyond the official cases: forms, types and errors.
#include <cmath>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::nn_operators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Gemm, TakesIntegers) {
  const HostTensor y = EvaluateTensor(
      {"Gemm",
       13,
       {Values({1, 2}, {1, 2}, DataType::kInt32), Values({2, 1}, {3, 4}, DataType::kInt32)},
       Attribute("alpha", 2.0f)});
  EXPECT_EQ(y.type(), DataType::kInt32);
  EXPECT_THAT(y.ToInts(), ElementsAre(22));
}

TEST(MatMul, BroadcastsBatchesAndDropsVectors) {
  const HostTensor a = Values({2, 1, 1, 2}, {1, 2, 3, 4});
  const HostTensor b = Values({2, 2, 1}, {1, 1, 10, 100});
  const HostTensor y = EvaluateTensor({"MatMul", 13, {a, b}});
  EXPECT_THAT(y.shape().dims, ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(3, 210, 7, 430));
  EXPECT_THAT(
      EvaluateTensor({"MatMul", 13, {Values({2}, {1, 2}), Values({2}, {3, 4})}}).shape().dims,
      IsEmpty());
}

TEST(FusedMatMul, TransposesAndScales) {
  const HostTensor y = EvaluateTensor(
      {"FusedMatMul",
       13,
       {Values({2, 1}, {1, 2}), Values({1, 2}, {3, 4})},
       Attribute("transA", int64_t{1}) + Attribute("transB", int64_t{1}) + Attribute("alpha", 0.5f),
       1,
       "com.microsoft"});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(5.5));
}

TEST(Einsum, ChainsProductsAndSumsWhatIsNotWanted) {
  const HostTensor a = Values({2, 2}, {1, 2, 3, 4});
  const HostTensor ones = Values({2, 2}, {1, 1, 1, 1});
  EXPECT_THAT(
      EvaluateTensor(
          {"Einsum", 13, {a, ones, a}, Attribute("equation", std::string("ij, jk, kl -> il"))})
          .ToDoubles(),
      ElementsAre(12, 18, 28, 42));
  EXPECT_THAT(
      EvaluateTensor({"Einsum", 13, {a}, Attribute("equation", std::string("ii"))}).ToDoubles(),
      ElementsAre(5));
  EXPECT_THAT(EvaluateTensor({"Einsum",
                              13,
                              {a, Values({2, 1}, {1, 10})},
                              Attribute("equation", std::string("...j,...j->..."))})
                  .ToDoubles(),
              ElementsAre(3, 70));
}

TEST(Einsum, NamesATermThatDoesNotFit) {
  EXPECT_THAT(
      Error({"Einsum", 13, {Values({2}, {1, 2})}, Attribute("equation", std::string("ij->i"))}),
      HasSubstr("term 'ij' does not fit a tensor of rank 1"));
}

TEST(Reduce, OfNothingGivesTheNeutralElement) {
  const HostTensor none = Values({0, 2}, {});
  const std::string axes = Attribute("axes", std::vector<int64_t>{0});
  EXPECT_THAT(EvaluateTensor({"ReduceProd", 13, {none}, axes}).ToDoubles(), ElementsAre(1, 1));
  EXPECT_THAT(EvaluateTensor({"ReduceMax", 13, {none}, axes}).ToDoubles(),
              ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(EvaluateTensor({"ReduceMin", 13, {Values({0}, {}, DataType::kInt32)}}).ToInts(),
              ElementsAre(std::numeric_limits<int32_t>::max()));
  EXPECT_THAT(EvaluateTensor({"ReduceLogSumExp", 13, {none}, axes}).ToDoubles(),
              ElementsAre(-kInfinity, -kInfinity));
}

TEST(Reduce, TakesAxesAsAnOperandFromItsVersionOn) {
  const HostTensor x = Values({2, 2}, {1, 2, 3, 4});
  const HostTensor axes = Values({1}, {-1}, DataType::kInt64);
  EXPECT_THAT(
      EvaluateTensor({"ReduceMean", 18, {x, axes}, Attribute("keepdims", int64_t{0})}).ToDoubles(),
      ElementsAre(1.5, 3.5));
  const HostTensor empty = Values({0}, {}, DataType::kInt64);
  ExpectNear(EvaluateTensor({"ReduceL2",
                             18,
                             {Values({2}, {-3, 4}), empty},
                             Attribute("noop_with_empty_axes", int64_t{1})}),
             {3, 4});
}

TEST(Reduce, LogSumExpSurvivesLargeAndInfiniteElements) {
  EXPECT_NEAR(EvaluateTensor({"ReduceLogSumExp", 13, {Values({2}, {1000, 1000})}}).GetDouble(0),
              1000 + std::log(2.0), 1e-3);
  EXPECT_EQ(
      EvaluateTensor({"ReduceLogSumExp", 13, {Values({2}, {-kInfinity, -kInfinity})}}).GetDouble(0),
      -kInfinity);
}

TEST(Reduce, KeepsIntegersIntegers) {
  const HostTensor y =
      EvaluateTensor({"ReduceMean", 13, {Values({3}, {1, 2, 4}, DataType::kInt32)}});
  EXPECT_EQ(y.type(), DataType::kInt32);
  EXPECT_THAT(y.ToInts(), ElementsAre(2));
  EXPECT_THAT(EvaluateTensor({"ReduceMax", 20, {Values({2}, {0, 1}, DataType::kBool)}}).ToInts(),
              ElementsAre(1));
}

HostTensor Integers(DataType type, const std::vector<int64_t>& values) {
  const TensorShape shape{type, {static_cast<int64_t>(values.size())}};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(type, values[i], static_cast<int64_t>(i), bytes.data());
  }
  return HostTensor(shape, bytes);
}

// Each mean is computed with 128 bits and rounded towards zero.
TEST(ReduceMean, OfIntegersDoesNotOverflow) {
  __extension__ using Wide = __int128;
  std::mt19937_64 random(45);
  for (const DataType type : {DataType::kInt8, DataType::kUInt8, DataType::kInt16, DataType::kInt32,
                              DataType::kUInt32, DataType::kInt64, DataType::kUInt64}) {
    const auto value = [&](int64_t bits) {
      return type == DataType::kUInt64 ? Wide{static_cast<uint64_t>(bits)} : Wide{bits};
    };
    for (int round = 0; round < 40; ++round) {
      std::vector<int64_t> values(1 + random() % 7);
      Wide sum = 0;
      for (int64_t& v : values) {
        const uint64_t kind = random() % 4;
        v = kind == 0 ? MinInteger(type) : MaxInteger(type);
        if (kind > 1) v = Integers(type, {static_cast<int64_t>(random())}).GetInt(0);
        sum += value(v);
      }
      const HostTensor mean = EvaluateTensor(
          {"ReduceMean", 13, {Integers(type, values)}, Attribute("keepdims", int64_t{0})});
      ASSERT_EQ(mean.type(), type);
      EXPECT_EQ(static_cast<double>(value(mean.GetInt(0)) - sum / static_cast<Wide>(values.size())),
                0)
          << tartan::Name(type) << ", round " << round;
    }
  }
}

TEST(Reduce, NormsOfIntegersAreThoseOfFloat64) {
  const auto reduce = [](const char* op, const std::vector<int64_t>& values) {
    return EvaluateTensor({op, 13, {Integers(DataType::kInt32, values)}}).GetInt(0);
  };
  EXPECT_EQ(reduce("ReduceL2", {30000, 40000}), 50000);
  EXPECT_EQ(reduce("ReduceL2", {16777217}), 16777217);
  EXPECT_EQ(reduce("ReduceLogSumExp", {16777217}), 16777217);
}

TEST(AveragePool, TakesNoIntegers) {
  const HostTensor x = Values({1, 1, 4}, {1, 2, 3, 4}, DataType::kInt32);
  const std::string kernel = Attribute("kernel_shape", std::vector<int64_t>{2});
  EXPECT_THAT(Error({"AveragePool", 13, {x}, kernel}),
              HasSubstr("operand 0 is int32[1, 1, 4], but the operator takes floats only"));
  EXPECT_THAT(Error({"GlobalAveragePool", 13, {x}}), HasSubstr("takes floats only"));
  EXPECT_THAT(Error({"Mean", 13, {x, x}}), HasSubstr("takes floats only"));
}

TEST(ArgMax, CountsANanAsTheGreatest) {
  EXPECT_THAT(
      EvaluateTensor({"ArgMax", 13, {Values({4}, {5, std::nan(""), 9, std::nan("")})}}).ToInts(),
      ElementsAre(1));
}

TEST(TopK, CountsANanAsTheGreatest) {
  const double nan = std::nan("");
  const HostTensor x = Values({5}, {5, nan, 9, -kInfinity, kInfinity});
  const HostTensor k = Values({1}, {3}, DataType::kInt64);
  EXPECT_THAT(EvaluateTensor({"TopK", 13, {x, k}, "", 2}, 1).ToInts(), ElementsAre(1, 4, 2));
  EXPECT_THAT(EvaluateTensor({"TopK", 13, {x, k}, Attribute("largest", int64_t{0}), 2}, 1).ToInts(),
              ElementsAre(3, 0, 2));
}

TEST(Softmax, FlattensBeforeOpset13) {
  const HostTensor x = Values({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(EvaluateTensor({"Softmax", 11, {x}}).ToDoubles(),
              ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(EvaluateTensor({"Softmax", 13, {x}}).ToDoubles(), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(GroupNormalization, ScalesPerGroupThenPerChannel) {
  const HostTensor x = Values({1, 4, 1}, {0, 2, 0, 4});
  const std::string attributes = Attribute("num_groups", int64_t{2}) + Attribute("epsilon", 0.0f);
  ExpectNear(
      EvaluateTensor(
          {"GroupNormalization", 18, {x, Values({2}, {1, 10}), Values({2}, {0, 5})}, attributes}),
      {-1, 1, -5, 15});
  ExpectNear(EvaluateTensor({"GroupNormalization",
                             21,
                             {x, Values({4}, {1, 2, 3, 4}), Values({4}, {0, 0, 0, 1})},
                             attributes}),
             {-1, 2, -3, 5});
}

TEST(RmsNormalization, DividesByTheRootOfTheMeanSquare) {
  ExpectNear(EvaluateTensor({"RMSNormalization",
                             23,
                             {Values({1, 2}, {3, 4}), Values({2}, {1, 2})},
                             Attribute("epsilon", 0.0f)}),
             {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(SkipLayerNormalization, AddsSkipAndBiasFirst) {
  const OperatorCall call = {"SkipLayerNormalization",
                             13,
                             {Values({1, 1, 2}, {1, 2}), Values({1, 1, 2}, {1, 1}),
                              Values({2}, {1, 1}), HostTensor(), Values({2}, {0, 2})},
                             "",
                             4,
                             "com.microsoft"};
  EXPECT_THAT(EvaluateTensor(call, 3).ToDoubles(), ElementsAre(2, 5));
  ExpectNear(EvaluateTensor(call), {-1, 1});
}

TEST(LpNormalization, LeavesZerosAlone) {
  ExpectNear(EvaluateTensor({"LpNormalization", 13, {Values({2, 2}, {3, 4, 0, 0})}}),
             {0.6, 0.8, 0, 0});
}

TEST(BatchNormalization, MovesTheRunningStatisticsInTraining) {
  const OperatorCall call = {"BatchNormalization",
                             15,
                             {Values({2, 1}, {1, 3}), Values({1}, {2}), Values({1}, {5}),
                              Values({1}, {0}), Values({1}, {0})},
                             Attribute("training_mode", int64_t{1}) + Attribute("momentum", 0.5f) +
                                 Attribute("epsilon", 0.0f),
                             3};
  ExpectNear(EvaluateTensor(call), {3, 7});
  ExpectNear(EvaluateTensor(call, 1), {1});
  ExpectNear(EvaluateTensor(call, 2), {0.5});
}

TEST(Mod, FloorsTheQuotientOfFloats) {
  const HostTensor c = EvaluateTensor(
      {"Mod",
       28,
       {Values({5}, {-4.5, 4.5, 6, -1, 1}), Values({5}, {2, -2, 3, kInfinity, kInfinity})}});
  EXPECT_THAT(c.ToDoubles(), ElementsAre(1.5, -1.5, 0, kInfinity, 1));
  EXPECT_THAT(Error({"Mod", 13, {Values({1}, {1}), Values({1}, {1})}}),
              HasSubstr("attribute 'fmod' must be 1 for floats"));
}

TEST(Trilu, OfBoolsIsBool) {
  const auto y = RunOperator({"Trilu",
                              14,
                              {Values({2, 3}, {1, 1, 1, 1, 1, 1}, DataType::kBool)},
                              Attribute("upper", int64_t{0})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].type(), DataType::kBool);
  EXPECT_EQ((*y)[0].ToInts(), (std::vector<int64_t>{1, 0, 0, 1, 1, 0}));
}

TEST(Gelu, OfAFloat16ScalarIsRoundedOnce) {
  const auto y = RunOperator({"Gelu", 20, {Values({}, {-3.447265625}, DataType::kFloat16)}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_NEAR((*y)[0].GetDouble(0), -9.7609e-4, 1e-6);
}

}  // namespace
}  // namespace tartan::onnx::nn_operators_test
