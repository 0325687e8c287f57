// Operators of neural networks where the official cases say nothing: forms, types and errors.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Output `i` of a call that must succeed.
HostTensor Evaluate(const OperatorCall& call, size_t i = 0) {
  const auto outputs = RunOperator(call);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return Values({0}, {});
  }
  return outputs->at(i);
}

std::string Error(const OperatorCall& call) {
  return std::string(RunOperator(call).status().message());
}

void ExpectNear(const HostTensor& actual, const std::vector<double>& expected) {
  const std::vector<double> values = actual.ToDoubles();
  ASSERT_EQ(values.size(), expected.size()) << actual.shape();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_THAT(values[i], DoubleNear(expected[i], 1e-5)) << "element " << i;
  }
}

TEST(Conv, SumsTheChannelsOfItsGroupOnly) {
  // Two groups of two inputs and two outputs, kernel of one.
  const HostTensor y =
      Evaluate({"Conv",
                13,
                {Values({1, 4, 1}, {1, 2, 3, 4}), Values({4, 2, 1}, {1, 0, 1, 1, 1, 0, 0, 10})},
                Attribute("group", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 3, 3, 40));
}

TEST(Conv, GivesEachInputOfADepthwiseFormSeveralOutputs) {
  const HostTensor y = Evaluate({"Conv",
                                 13,
                                 {Values({1, 2, 2}, {1, 2, 3, 4}), Values({4, 1, 1}, {1, 2, 3, 4}),
                                  Values({4}, {0, 0, 0, 100})},
                                 Attribute("group", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 2, 2, 4, 9, 12, 112, 116));
}

TEST(Conv, ReadsNothingFromItsPadding) {
  const HostTensor y = Evaluate({"Conv",
                                 13,
                                 {Values({1, 1, 3}, {1, 2, 3}), Values({1, 1, 2}, {1, 10})},
                                 Attribute("dilations", std::vector<int64_t>{2}) +
                                     Attribute("pads", std::vector<int64_t>{2, 1})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(10, 20, 31, 2));
}

TEST(Conv, NamesAGroupThatDoesNotDivideTheChannels) {
  EXPECT_THAT(Error({"Conv",
                     13,
                     {Values({1, 4, 1}, {1, 2, 3, 4}), Values({3, 1, 1}, {1, 1, 1})},
                     Attribute("group", int64_t{3})}),
              HasSubstr("n (Conv, opset 13): group 3 does not divide channels 4 and 3"));
}

TEST(Conv, RefusesAWindowThatDoesNotFit) {
  EXPECT_THAT(Error({"Conv", 13, {Values({1, 1, 2}, {1, 2}), Values({1, 1, 3}, {1, 1, 1})}}),
              HasSubstr("a window of 3 does not fit"));
}

TEST(ConvTranspose, KeepsGroupsApart) {
  const HostTensor y =
      Evaluate({"ConvTranspose",
                13,
                {Values({1, 2, 2}, {1, 2, 3, 4}), Values({2, 1, 2}, {1, 10, 100, 1000})},
                Attribute("group", int64_t{2}) + Attribute("strides", std::vector<int64_t>{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 10, 2, 20, 300, 3000, 400, 4000));
}

TEST(MaxPool, CountsPositionsColumnByColumnOnRequest) {
  const OperatorCall call = {"MaxPool",
                             13,
                             {Values({1, 1, 2, 3}, {1, 2, 3, 6, 5, 4})},
                             Attribute("kernel_shape", std::vector<int64_t>{2, 2}) +
                                 Attribute("storage_order", int64_t{1}),
                             2};
  EXPECT_THAT(Evaluate(call).ToDoubles(), ElementsAre(6, 5));
  EXPECT_THAT(Evaluate(call, 1).ToInts(), ElementsAre(1, 3));
}

TEST(MaxPool, TakesTheFirstOfEqualElements) {
  const OperatorCall call = {"MaxPool",
                             13,
                             {Values({1, 2, 3}, {7, 7, 7, -1, -1, -2})},
                             Attribute("kernel_shape", std::vector<int64_t>{2}),
                             2};
  EXPECT_THAT(Evaluate(call, 1).ToInts(), ElementsAre(0, 1, 3, 4));
}

TEST(AveragePool, DividesByTheElementsThatAreThere) {
  const HostTensor y = Evaluate({"AveragePool",
                                 13,
                                 {Values({1, 1, 4}, {2, 4, 6, 8})},
                                 Attribute("kernel_shape", std::vector<int64_t>{3}) +
                                     Attribute("strides", std::vector<int64_t>{2}) +
                                     Attribute("ceil_mode", int64_t{1})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(4, 7));
}

TEST(AveragePool, OfHalfsDoesNotOverflow) {
  const HostTensor y = Evaluate(
      {"GlobalAveragePool", 13, {Values({1, 1, 3}, {60000, 60000, 60000}, DataType::kFloat16)}});
  EXPECT_EQ(y.type(), DataType::kFloat16);
  EXPECT_NEAR(y.GetDouble(0), 60000, 32);
}

TEST(AveragePool, OfHalfsIsOfHalfsWhereCountsDiffer) {
  const HostTensor y = Evaluate({"AveragePool",
                                 13,
                                 {Values({1, 1, 3}, {1, 2, 4}, DataType::kFloat16)},
                                 Attribute("kernel_shape", std::vector<int64_t>{2}) +
                                     Attribute("pads", std::vector<int64_t>{1, 1})});
  EXPECT_EQ(y.type(), DataType::kFloat16);
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 1.5, 3, 4));
}

TEST(LpPool, TakesTheRootOfTheSumOfPowers) {
  const HostTensor x = Values({1, 1, 3}, {3, -4, 0});
  const std::string kernel = Attribute("kernel_shape", std::vector<int64_t>{2});
  ExpectNear(Evaluate({"LpPool", 13, {x}, kernel}), {5, 4});
  ExpectNear(Evaluate({"LpPool", 13, {x}, kernel + Attribute("p", int64_t{1})}), {7, 4});
  ExpectNear(Evaluate({"GlobalLpPool", 13, {x}, Attribute("p", int64_t{3})}), {std::cbrt(91.0)});
}

TEST(Gemm, TakesIntegers) {
  const HostTensor y = Evaluate(
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
  const HostTensor y = Evaluate({"MatMul", 13, {a, b}});
  EXPECT_THAT(y.shape().dims, ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(3, 210, 7, 430));
  EXPECT_THAT(Evaluate({"MatMul", 13, {Values({2}, {1, 2}), Values({2}, {3, 4})}}).shape().dims,
              IsEmpty());
}

TEST(FusedMatMul, TransposesAndScales) {
  const HostTensor y = Evaluate(
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
      Evaluate({"Einsum", 13, {a, ones, a}, Attribute("equation", std::string("ij, jk, kl -> il"))})
          .ToDoubles(),
      ElementsAre(12, 18, 28, 42));
  EXPECT_THAT(Evaluate({"Einsum", 13, {a}, Attribute("equation", std::string("ii"))}).ToDoubles(),
              ElementsAre(5));
  EXPECT_THAT(Evaluate({"Einsum",
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
  EXPECT_THAT(Evaluate({"ReduceProd", 13, {none}, axes}).ToDoubles(), ElementsAre(1, 1));
  EXPECT_THAT(Evaluate({"ReduceMax", 13, {none}, axes}).ToDoubles(),
              ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(Evaluate({"ReduceMin", 13, {Values({0}, {}, DataType::kInt32)}}).ToInts(),
              ElementsAre(std::numeric_limits<int32_t>::max()));
  EXPECT_THAT(Evaluate({"ReduceLogSumExp", 13, {none}, axes}).ToDoubles(),
              ElementsAre(-kInfinity, -kInfinity));
}

TEST(Reduce, TakesAxesAsAnOperandFromItsVersionOn) {
  const HostTensor x = Values({2, 2}, {1, 2, 3, 4});
  const HostTensor axes = Values({1}, {-1}, DataType::kInt64);
  EXPECT_THAT(
      Evaluate({"ReduceMean", 18, {x, axes}, Attribute("keepdims", int64_t{0})}).ToDoubles(),
      ElementsAre(1.5, 3.5));
  const HostTensor empty = Values({0}, {}, DataType::kInt64);
  ExpectNear(Evaluate({"ReduceL2",
                       18,
                       {Values({2}, {-3, 4}), empty},
                       Attribute("noop_with_empty_axes", int64_t{1})}),
             {3, 4});
}

TEST(Reduce, LogSumExpSurvivesLargeAndInfiniteElements) {
  EXPECT_NEAR(Evaluate({"ReduceLogSumExp", 13, {Values({2}, {1000, 1000})}}).GetDouble(0),
              1000 + std::log(2.0), 1e-3);
  EXPECT_EQ(Evaluate({"ReduceLogSumExp", 13, {Values({2}, {-kInfinity, -kInfinity})}}).GetDouble(0),
            -kInfinity);
}

TEST(Reduce, KeepsIntegersIntegers) {
  const HostTensor y = Evaluate({"ReduceMean", 13, {Values({3}, {1, 2, 4}, DataType::kInt32)}});
  EXPECT_EQ(y.type(), DataType::kInt32);
  EXPECT_THAT(y.ToInts(), ElementsAre(2));
  EXPECT_THAT(Evaluate({"ReduceMax", 20, {Values({2}, {0, 1}, DataType::kBool)}}).ToInts(),
              ElementsAre(1));
}

TEST(ArgMax, CountsANanAsTheGreatest) {
  EXPECT_THAT(Evaluate({"ArgMax", 13, {Values({4}, {5, std::nan(""), 9, std::nan("")})}}).ToInts(),
              ElementsAre(1));
}

TEST(TopK, CountsANanAsTheGreatest) {
  const double nan = std::nan("");
  const HostTensor x = Values({5}, {5, nan, 9, -kInfinity, kInfinity});
  const HostTensor k = Values({1}, {3}, DataType::kInt64);
  EXPECT_THAT(Evaluate({"TopK", 13, {x, k}, "", 2}, 1).ToInts(), ElementsAre(1, 4, 2));
  EXPECT_THAT(Evaluate({"TopK", 13, {x, k}, Attribute("largest", int64_t{0}), 2}, 1).ToInts(),
              ElementsAre(3, 0, 2));
}

TEST(MaxPool, PointsAtANanAsAtAnyMaximum) {
  const double nan = std::nan("");
  const HostTensor x = Values({1, 1, 2, 3}, {1, 7, 2, 7, nan, nan});
  const std::string windows = Attribute("kernel_shape", std::vector<int64_t>{2, 2});
  EXPECT_THAT(Evaluate({"MaxPool", 12, {x}, windows, 2}, 1).ToInts(), ElementsAre(4, 4));
  const std::string rows = Attribute("kernel_shape", std::vector<int64_t>{1, 3});
  EXPECT_THAT(Evaluate({"MaxPool", 12, {x}, rows, 2}, 1).ToInts(), ElementsAre(1, 4));
}

// The first in row-major order, however positions are counted.
TEST(MaxPool, TakesTheFirstOfEqualOnesInColumnMajorPositionsToo) {
  const HostTensor x = Values({1, 2, 2, 3}, {0, 7, 0, 7, 0, 0, 0, 0, 5, 0, 5, 5});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{2, 3}) +
                             Attribute("storage_order", int64_t{1});
  EXPECT_THAT(Evaluate({"MaxPool", 12, {x}, fields, 2}, 1).ToInts(), ElementsAre(2, 10));
}

TEST(MaxPool, RoundsUpToPartOfAWindow) {
  const HostTensor x = Values({1, 1, 3}, {1, 3, 2});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{4}) +
                             Attribute("strides", std::vector<int64_t>{2});
  EXPECT_THAT(
      Evaluate({"MaxPool", 12, {x}, fields + Attribute("ceil_mode", int64_t{1})}).ToDoubles(),
      ElementsAre(3));
  EXPECT_FALSE(RunOperator({"MaxPool", 12, {x}, fields}).ok());
}

// By the standard's formula the padding of SAME is negative where strides leave gaps.
TEST(MaxPool, CropsForSameWhereStridesAreWiderThanWindows) {
  const HostTensor x = Values({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{1}) +
                             Attribute("strides", std::vector<int64_t>{3}) +
                             Attribute("auto_pad", std::string("SAME_UPPER"));
  EXPECT_THAT(Evaluate({"MaxPool", 12, {x}, fields}).ToDoubles(), ElementsAre(2, 5));
}

// "test_resize_downsample_nearest" of ONNX 1.5.
TEST(Resize, TakesTheNextElementWhereAnAxisShrinksInOpset10) {
  const HostTensor x = Values({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor scales = Values({4}, {1, 1, 0.6, 0.6});
  const HostTensor y = Evaluate({"Resize", 10, {x, scales}});
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 3));
  const HostTensor row = Values({4}, {1, 2, 3, 4});
  EXPECT_THAT(Evaluate({"Resize", 10, {row, Values({1}, {1.5})}}).ToDoubles(),
              ElementsAre(1, 1, 2, 3, 3, 4));
}

// 0.7 as a float32 is a little less.
TEST(Resize, CountsAndRoundsInFloat32AsScalesAreGiven) {
  const HostTensor x = Values({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const HostTensor y =
      Evaluate({"Resize",
                13,
                {x, {}, Values({1}, {0.7})},
                Attribute("coordinate_transformation_mode", std::string("asymmetric")) +
                    Attribute("nearest_mode", std::string("ceil"))});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(0, 2, 3, 5, 6, 8, 9));
}

TEST(Softmax, FlattensBeforeOpset13) {
  const HostTensor x = Values({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(Evaluate({"Softmax", 11, {x}}).ToDoubles(), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(Evaluate({"Softmax", 13, {x}}).ToDoubles(), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(GroupNormalization, ScalesPerGroupThenPerChannel) {
  const HostTensor x = Values({1, 4, 1}, {0, 2, 0, 4});
  const std::string attributes = Attribute("num_groups", int64_t{2}) + Attribute("epsilon", 0.0f);
  ExpectNear(
      Evaluate(
          {"GroupNormalization", 18, {x, Values({2}, {1, 10}), Values({2}, {0, 5})}, attributes}),
      {-1, 1, -5, 15});
  ExpectNear(Evaluate({"GroupNormalization",
                       21,
                       {x, Values({4}, {1, 2, 3, 4}), Values({4}, {0, 0, 0, 1})},
                       attributes}),
             {-1, 2, -3, 5});
}

TEST(RmsNormalization, DividesByTheRootOfTheMeanSquare) {
  ExpectNear(Evaluate({"RMSNormalization",
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
  EXPECT_THAT(Evaluate(call, 3).ToDoubles(), ElementsAre(2, 5));
  ExpectNear(Evaluate(call), {-1, 1});
}

TEST(LpNormalization, LeavesZerosAlone) {
  ExpectNear(Evaluate({"LpNormalization", 13, {Values({2, 2}, {3, 4, 0, 0})}}), {0.6, 0.8, 0, 0});
}

TEST(QuantizeLinear, RoundsTiesToEvenAndSaturates) {
  const HostTensor y = Evaluate({"QuantizeLinear",
                                 13,
                                 {Values({5}, {0.5, 1.5, -2.5, 300, -300}), Values({}, {1}),
                                  Values({}, {0}, DataType::kInt8)}});
  EXPECT_THAT(y.ToInts(), ElementsAre(0, 2, -2, 127, -128));
}

TEST(DequantizeLinear, TakesAScaleAndAZeroPointOfDifferentRank) {
  const HostTensor y = Evaluate({"DequantizeLinear",
                                 13,
                                 {Values({2}, {7, 9}, DataType::kInt32), Values({1}, {2}),
                                  Values({}, {5}, DataType::kInt32)}});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(4, 8));
}

TEST(DequantizeLinear, TakesAScalePerBlock) {
  const HostTensor y =
      Evaluate({"DequantizeLinear",
                21,
                {Values({1, 4}, {1, 2, 3, 4}, DataType::kInt8), Values({1, 2}, {1, 10}),
                 Values({1, 2}, {0, 1}, DataType::kInt8)},
                Attribute("axis", int64_t{1}) + Attribute("block_size", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 2, 20, 30));
}

TEST(QLinearConv, TakesAScaleAndAZeroPointPerOutputChannel) {
  const HostTensor y =
      Evaluate({"QLinearConv",
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
  const HostTensor y =
      Evaluate({"QLinearAdd",
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
  EXPECT_THAT(Evaluate(call).ToInts(), ElementsAre(9, 16));
  OperatorCall all = call;
  all.op = "QLinearGlobalAveragePool";
  all.fields = "";
  // The mean of 0, 4, 8 and 10 is 5.5, which rounds to 6.
  EXPECT_THAT(Evaluate(all).ToInts(), ElementsAre(13));
}

TEST(QLinearGlobalAveragePool, FindsChannelsLast) {
  const auto pool = [](int64_t channels_last) {
    return Evaluate(
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
  const HostTensor y = Evaluate({"QLinearSoftmax",
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
  const HostTensor y = Evaluate(
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
  const HostTensor y = Evaluate(
      {"DynamicQuantizeMatMul",
       13,
       {Values({1, 2}, {0, 255}), Values({2, 1}, {1, 2}, DataType::kUInt8), Values({}, {0.5})},
       "",
       1,
       "com.microsoft"});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(255));
}

TEST(BatchNormalization, MovesTheRunningStatisticsInTraining) {
  const OperatorCall call = {"BatchNormalization",
                             15,
                             {Values({2, 1}, {1, 3}), Values({1}, {2}), Values({1}, {5}),
                              Values({1}, {0}), Values({1}, {0})},
                             Attribute("training_mode", int64_t{1}) + Attribute("momentum", 0.5f) +
                                 Attribute("epsilon", 0.0f),
                             3};
  ExpectNear(Evaluate(call), {3, 7});
  ExpectNear(Evaluate(call, 1), {1});
  ExpectNear(Evaluate(call, 2), {0.5});
}

TEST(Mod, FloorsTheQuotientOfFloats) {
  const HostTensor c = Evaluate(
      {"Mod",
       28,
       {Values({5}, {-4.5, 4.5, 6, -1, 1}), Values({5}, {2, -2, 3, kInfinity, kInfinity})}});
  EXPECT_THAT(c.ToDoubles(), ElementsAre(1.5, -1.5, 0, kInfinity, 1));
  EXPECT_THAT(Error({"Mod", 13, {Values({1}, {1}), Values({1}, {1})}}),
              HasSubstr("attribute 'fmod' must be 1 for floats"));
}

TEST(SpaceToDepth, KeepsTheBlocksOfAChannelTogetherInTheOtherMode) {
  const HostTensor x = Values({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string size = Attribute("blocksize", int64_t{2});
  EXPECT_THAT(Evaluate({"SpaceToDepth", 28, {x}, size}).ToDoubles(),
              ElementsAre(1, 5, 2, 6, 3, 7, 4, 8));
  EXPECT_THAT(
      Evaluate({"SpaceToDepth", 28, {x}, size + Attribute("mode", std::string("CRD"))}).ToDoubles(),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Error({"SpaceToDepth", 28, {x}, size + Attribute("mode", std::string("DRC"))}),
              HasSubstr("expected DCR or CRD, got DRC"));
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

TEST(DepthToSpace, TakesNoChannels) {
  const auto y = RunOperator(
      {"DepthToSpace", 13, {Values({2, 0, 3, 1}, {})}, Attribute("blocksize", int64_t{2})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].shape().dims, (std::vector<int64_t>{2, 0, 6, 2}));
}

TEST(Gelu, OfAFloat16ScalarIsRoundedOnce) {
  const auto y = RunOperator({"Gelu", 20, {Values({}, {-3.447265625}, DataType::kFloat16)}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_NEAR((*y)[0].GetDouble(0), -9.7609e-4, 1e-6);
}

}  // namespace
}  // namespace tartan::onnx
