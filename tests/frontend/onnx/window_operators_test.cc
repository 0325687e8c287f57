// SPDX-License-Identifier: Apache-2.0
// Tests of convolution, pooling and resizing beyond the official cases: forms, types and errors.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::window_operators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Conv, SumsTheChannelsOfItsGroupOnly) {
  // Two groups of two inputs and two outputs, kernel of one.
  const HostTensor y = EvaluateTensor(
      {"Conv",
       13,
       {Values({1, 4, 1}, {1, 2, 3, 4}), Values({4, 2, 1}, {1, 0, 1, 1, 1, 0, 0, 10})},
       Attribute("group", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 3, 3, 40));
}

TEST(Conv, GivesEachInputOfADepthwiseFormSeveralOutputs) {
  const HostTensor y =
      EvaluateTensor({"Conv",
                      13,
                      {Values({1, 2, 2}, {1, 2, 3, 4}), Values({4, 1, 1}, {1, 2, 3, 4}),
                       Values({4}, {0, 0, 0, 100})},
                      Attribute("group", int64_t{2})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 2, 2, 4, 9, 12, 112, 116));
}

TEST(Conv, ReadsNothingFromItsPadding) {
  const HostTensor y = EvaluateTensor({"Conv",
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
  const HostTensor y = EvaluateTensor(
      {"ConvTranspose",
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
  EXPECT_THAT(EvaluateTensor(call).ToDoubles(), ElementsAre(6, 5));
  EXPECT_THAT(EvaluateTensor(call, 1).ToInts(), ElementsAre(1, 3));
}

TEST(MaxPool, TakesTheFirstOfEqualElements) {
  const OperatorCall call = {"MaxPool",
                             13,
                             {Values({1, 2, 3}, {7, 7, 7, -1, -1, -2})},
                             Attribute("kernel_shape", std::vector<int64_t>{2}),
                             2};
  EXPECT_THAT(EvaluateTensor(call, 1).ToInts(), ElementsAre(0, 1, 3, 4));
}

TEST(AveragePool, DividesByTheElementsThatAreThere) {
  const HostTensor y = EvaluateTensor({"AveragePool",
                                       13,
                                       {Values({1, 1, 4}, {2, 4, 6, 8})},
                                       Attribute("kernel_shape", std::vector<int64_t>{3}) +
                                           Attribute("strides", std::vector<int64_t>{2}) +
                                           Attribute("ceil_mode", int64_t{1})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(4, 7));
}

TEST(AveragePool, OfHalfsDoesNotOverflow) {
  const HostTensor y = EvaluateTensor(
      {"GlobalAveragePool", 13, {Values({1, 1, 3}, {60000, 60000, 60000}, DataType::kFloat16)}});
  EXPECT_EQ(y.type(), DataType::kFloat16);
  EXPECT_NEAR(y.GetDouble(0), 60000, 32);
}

TEST(AveragePool, OfHalfsIsOfHalfsWhereCountsDiffer) {
  const HostTensor y = EvaluateTensor({"AveragePool",
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
  ExpectNear(EvaluateTensor({"LpPool", 13, {x}, kernel}), {5, 4});
  ExpectNear(EvaluateTensor({"LpPool", 13, {x}, kernel + Attribute("p", int64_t{1})}), {7, 4});
  ExpectNear(EvaluateTensor({"GlobalLpPool", 13, {x}, Attribute("p", int64_t{3})}),
             {std::cbrt(91.0)});
}

TEST(MaxPool, PointsAtANanAsAtAnyMaximum) {
  const double nan = std::nan("");
  const HostTensor x = Values({1, 1, 2, 3}, {1, 7, 2, 7, nan, nan});
  const std::string windows = Attribute("kernel_shape", std::vector<int64_t>{2, 2});
  EXPECT_THAT(EvaluateTensor({"MaxPool", 12, {x}, windows, 2}, 1).ToInts(), ElementsAre(4, 4));
  const std::string rows = Attribute("kernel_shape", std::vector<int64_t>{1, 3});
  EXPECT_THAT(EvaluateTensor({"MaxPool", 12, {x}, rows, 2}, 1).ToInts(), ElementsAre(1, 4));
}

// The first maximum in row-major order, in either order of positions.
TEST(MaxPool, TakesTheFirstOfEqualOnesInColumnMajorPositionsToo) {
  const HostTensor x = Values({1, 2, 2, 3}, {0, 7, 0, 7, 0, 0, 0, 0, 5, 0, 5, 5});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{2, 3}) +
                             Attribute("storage_order", int64_t{1});
  EXPECT_THAT(EvaluateTensor({"MaxPool", 12, {x}, fields, 2}, 1).ToInts(), ElementsAre(2, 10));
}

TEST(MaxPool, RoundsUpToPartOfAWindow) {
  const HostTensor x = Values({1, 1, 3}, {1, 3, 2});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{4}) +
                             Attribute("strides", std::vector<int64_t>{2});
  EXPECT_THAT(
      EvaluateTensor({"MaxPool", 12, {x}, fields + Attribute("ceil_mode", int64_t{1})}).ToDoubles(),
      ElementsAre(3));
  EXPECT_FALSE(RunOperator({"MaxPool", 12, {x}, fields}).ok());
}

// The standard's formula for SAME gives negative padding when strides exceed windows.
TEST(MaxPool, CropsForSameWhereStridesAreWiderThanWindows) {
  const HostTensor x = Values({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const std::string fields = Attribute("kernel_shape", std::vector<int64_t>{1}) +
                             Attribute("strides", std::vector<int64_t>{3}) +
                             Attribute("auto_pad", std::string("SAME_UPPER"));
  EXPECT_THAT(EvaluateTensor({"MaxPool", 12, {x}, fields}).ToDoubles(), ElementsAre(2, 5));
}

// "test_resize_downsample_nearest" of ONNX 1.5.
TEST(Resize, TakesTheNextElementWhereAnAxisShrinksInOpset10) {
  const HostTensor x = Values({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor scales = Values({4}, {1, 1, 0.6, 0.6});
  const HostTensor y = EvaluateTensor({"Resize", 10, {x, scales}});
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 3));
  const HostTensor row = Values({4}, {1, 2, 3, 4});
  EXPECT_THAT(EvaluateTensor({"Resize", 10, {row, Values({1}, {1.5})}}).ToDoubles(),
              ElementsAre(1, 1, 2, 3, 3, 4));
}

// 0.7 as a float32 is slightly smaller.
TEST(Resize, TakesAScaleForTheFractionThatRoundsToIt) {
  const HostTensor x = Values({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const HostTensor y =
      EvaluateTensor({"Resize",
                      13,
                      {x, {}, Values({1}, {0.7})},
                      Attribute("coordinate_transformation_mode", std::string("asymmetric")) +
                          Attribute("nearest_mode", std::string("ceil"))});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(0, 2, 3, 5, 6, 8, 9));
}

TEST(SpaceToDepth, KeepsTheBlocksOfAChannelTogetherInTheOtherMode) {
  const HostTensor x = Values({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string size = Attribute("blocksize", int64_t{2});
  EXPECT_THAT(EvaluateTensor({"SpaceToDepth", 28, {x}, size}).ToDoubles(),
              ElementsAre(1, 5, 2, 6, 3, 7, 4, 8));
  EXPECT_THAT(
      EvaluateTensor({"SpaceToDepth", 28, {x}, size + Attribute("mode", std::string("CRD"))})
          .ToDoubles(),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Error({"SpaceToDepth", 28, {x}, size + Attribute("mode", std::string("DRC"))}),
              HasSubstr("expected DCR or CRD, got DRC"));
}

TEST(DepthToSpace, TakesNoChannels) {
  const auto y = RunOperator(
      {"DepthToSpace", 13, {Values({2, 0, 3, 1}, {})}, Attribute("blocksize", int64_t{2})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].shape().dims, (std::vector<int64_t>{2, 0, 6, 2}));
}

}  // namespace
}  // namespace tartan::onnx::window_operators_test
