// SPDX-License-Identifier: Apache-2.0
// Tests of operators that read at computed positions, beyond the official cases.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::sampling_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr int64_t kOn = 1;

void ExpectNear(const HostTensor& actual, const std::vector<double>& expected) {
  EXPECT_THAT(actual.ToDoubles(), Pointwise(DoubleNear(1e-5), expected));
}

// Samples a row of four elements at `coordinates` from -1 to 1.
OperatorCall SampleRow(const std::vector<double>& coordinates, const std::string& fields,
                       DataType type = DataType::kFloat32) {
  const int64_t count = static_cast<int64_t>(coordinates.size());
  return {"GridSample",
          20,
          {Values({1, 1, 4}, {10, 20, 30, 40}, type), Values({1, count, 1}, coordinates)},
          fields};
}

TEST(GridSample, ReadsAlongOneAxis) {
  // With aligned corners, the elements are at -1, -1/3, 1/3, 1.
  ExpectNear(EvaluateTensor(SampleRow({-1, 0, 1}, Attribute("align_corners", kOn))), {10, 25, 40});
  // Without, they are at -3/4, -1/4, 1/4, 3/4, and -1 is half an element outside.
  ExpectNear(EvaluateTensor(SampleRow({-1, -0.5, 0}, "")), {5, 15, 25});
}

TEST(GridSample, RoundsHalvesToEvenForTheNearest) {
  // Coordinates 0.5, 1.5 and 2.5 of the elements.
  const auto y =
      EvaluateTensor(SampleRow({-0.5, 0, 0.5}, Attribute("mode", std::string("nearest"))));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(10, 30, 30));
}

TEST(GridSample, MirrorsAsOftenAsItTakes) {
  const std::string fields = Attribute("padding_mode", std::string("reflection")) +
                             Attribute("mode", std::string("nearest")) +
                             Attribute("align_corners", kOn);
  // With period 6 in elements: 3 + 1, 3 + 3, 3 + 4, 3 + 6, -1.
  const auto at = [](double element) { return element / 1.5 - 1; };
  const auto y = EvaluateTensor(SampleRow({at(4), at(6), at(7), at(9), at(-1)}, fields));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(30, 10, 20, 40, 20));
}

TEST(GridSample, MirrorsASingleElementOntoItself) {
  const auto y = EvaluateTensor(
      {"GridSample",
       20,
       {Values({1, 1, 1}, {7}), Values({1, 2, 1}, {-3, 0.5})},
       Attribute("padding_mode", std::string("reflection")) + Attribute("align_corners", kOn)});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(7, 7));
}

// PyTorch, which exports the operator, leaves the coordinate unchanged and clamps each of the four
// taps into the tensor. The expected values are from onnxruntime.
TEST(GridSample, BringsEachTapOfACubicIntoTheTensor) {
  const std::vector<double> picture = {1, 2, 4, 8, 3, 5, 7, 9, 2, 6, 1, 3};
  const std::vector<double> places = {-1.1, -0.9, 1.2, 1.05, -1.4, 0.3, 0.2, 1.3};
  const auto sample = [&](const char* padding, int64_t align_corners) {
    return EvaluateTensor({"GridSample",
                           20,
                           {Values({1, 1, 3, 4}, picture), Values({1, 1, 4, 2}, places)},
                           Attribute("mode", std::string("cubic")) +
                               Attribute("padding_mode", std::string(padding)) +
                               Attribute("align_corners", align_corners)});
  };
  ExpectNear(sample("border", 0), {0.736179, 2.546134, 2.760376, 1.305858});
  ExpectNear(sample("border", 1), {1.083901, 3.017438, 2.749385, 1.263621});
  ExpectNear(sample("reflection", 0), {0.528124, 2.035313, 3.646798, 1.122678});
  ExpectNear(sample("reflection", 1), {1.066652, 2.463251, 4.416779, 2.732456});
}

TEST(GridSample, RepeatsTheBorder) {
  const auto y =
      EvaluateTensor(SampleRow({-9, 9}, Attribute("padding_mode", std::string("border"))));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(10, 40));
}

TEST(GridSample, IsZeroWhereTheCoordinateIsFarOutsideOrNone) {
  const auto y =
      EvaluateTensor(SampleRow({1e30, -1e30, NAN}, Attribute("mode", std::string("nearest"))));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(0, 0, 0));
}

TEST(GridSample, InterpolatesIntegersAsFloats) {
  const auto y = EvaluateTensor(SampleRow({-0.5, 0}, "", DataType::kInt32));
  EXPECT_EQ(y.type(), DataType::kInt32);
  EXPECT_THAT(y.ToDoubles(), ElementsAre(15, 25));
}

TEST(GridSample, GivesNothingForAnEmptyGrid) {
  const auto y = EvaluateTensor(SampleRow({}, ""));
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 1, 0));
}

TEST(GridSample, SaysWhatDoesNotFit) {
  EXPECT_THAT(Error(SampleRow({0}, Attribute("mode", std::string("quintic")))),
              HasSubstr("expected nearest, linear or cubic, got quintic"));
  EXPECT_THAT(
      Error({"GridSample", 20, {Values({1, 1, 4}, {1, 2, 3, 4}), Values({1, 1, 2}, {0, 0})}}),
      HasSubstr("a grid float32[1, 1, 2] for float32[1, 1, 4]"));
  EXPECT_THAT(Error({"GridSample", 20, {Values({1, 1, 0}, {}), Values({1, 1, 1}, {0})}}),
              HasSubstr("nothing to sample"));
}

TEST(AffineGrid, PutsASingleElementInTheMiddle) {
  const auto y = EvaluateTensor(
      {"AffineGrid",
       20,
       {Values({1, 2, 3}, {1, 0, 5, 0, 1, 7}), Values({4}, {1, 1, 1, 2}, DataType::kInt64)},
       Attribute("align_corners", kOn)});
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(4, 7, 6, 7));
}

TEST(AffineGrid, WantsOneMatrixForEachImage) {
  EXPECT_THAT(
      Error({"AffineGrid",
             20,
             {Values({1, 2, 3}, {1, 0, 5, 0, 1, 7}), Values({4}, {2, 1, 1, 2}, DataType::kInt64)}}),
      HasSubstr("matrices float32[1, 2, 3] for the size [2, 1, 1, 2]"));
}

TEST(DeformConv, IsAConvolutionWithoutOffsets) {
  const HostTensor x = Values({1, 1, 3}, {1, 2, 3});
  const HostTensor w = Values({1, 1, 2}, {10, 1});
  const auto y = EvaluateTensor({"DeformConv", 19, {x, w, Values({1, 2, 2}, {0, 0, 0, 0})}});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(12, 23));
}

TEST(DeformConv, ReadsBetweenElementsAndZerosOutside) {
  const HostTensor x = Values({1, 1, 3}, {1, 2, 3});
  const HostTensor w = Values({1, 1, 1}, {1});
  const auto y = EvaluateTensor({"DeformConv", 19, {x, w, Values({1, 1, 3}, {0.5, -3, 0.25})}});
  ExpectNear(y, {1.5, 0, 2.25});
}

TEST(DeformConv, OfHalfsIsOfHalfs) {
  const DataType half = DataType::kFloat16;
  const auto y = EvaluateTensor({"DeformConv",
                                 22,
                                 {Values({1, 1, 3}, {1, 2, 3}, half), Values({1, 1, 1}, {1}, half),
                                  Values({1, 1, 3}, {0.5, -3, 0.25}, half)}});
  EXPECT_EQ(y.type(), half);
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1.5, 0, 2.25));
}

TEST(DeformConv, ChecksTheOffsets) {
  EXPECT_THAT(Error({"DeformConv",
                     19,
                     {Values({1, 1, 3}, {1, 2, 3}), Values({1, 1, 1}, {1}),
                      Values({1, 2, 3}, {0, 0, 0, 0, 0, 0})}}),
              HasSubstr("offsets float32[1, 2, 3] for 1 groups"));
}

// A ramp with the values 10 * row + column.
HostTensor Ramp(int64_t height, int64_t width) {
  std::vector<double> values;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) values.push_back(static_cast<double>(10 * y + x));
  }
  return Values({1, 1, height, width}, values);
}

OperatorCall Align(const std::vector<double>& region, const std::string& fields) {
  return {"RoiAlign",
          16,
          {Ramp(6, 6), Values({1, 4}, region), Values({1}, {0}, DataType::kInt64)},
          fields};
}

TEST(RoiAlign, AveragesARampToItsMiddle) {
  // The region is 1 to 4 in rows and columns, shifted by half an element; its centre is 2.
  ExpectNear(EvaluateTensor(Align({1, 1, 4, 4}, "")), {22});
  ExpectNear(EvaluateTensor(Align({1, 1, 4, 4}, Attribute("sampling_ratio", int64_t{2}))), {22});
}

TEST(RoiAlign, IsZeroForRegionsTurnedInsideOut) {
  EXPECT_THAT(EvaluateTensor(Align({4, 4, 1, 1}, "")).ToDoubles(), ElementsAre(0));
  EXPECT_THAT(
      EvaluateTensor(Align({4, 4, 1, 1}, Attribute("mode", std::string("max")))).ToDoubles(),
      ElementsAre(0));
}

TEST(RoiAlign, TakesRegionsAsAtLeastOneElementInTheOldForm) {
  OperatorCall call = Align({2, 2, 2, 2}, "");
  call.opset = 10;
  // One sample at 2.5, 2.5.
  ExpectNear(EvaluateTensor(call), {27.5});
}

TEST(RoiAlign, RefusesRegionsThatAskForTooManySamples) {
  EXPECT_THAT(Error(Align({0, 0, 1e9, 1}, "")), HasSubstr("samples per bin"));
}

TEST(RoiAlign, GivesNothingForNoRegions) {
  const auto y = EvaluateTensor(
      {"RoiAlign", 16, {Ramp(2, 2), Values({0, 4}, {}), Values({0}, {}, DataType::kInt64)}});
  EXPECT_THAT(y.ToDoubles(), IsEmpty());
}

TEST(MaxRoiPool, BelongsItsCornersToTheRegion) {
  const auto y = EvaluateTensor({"MaxRoiPool",
                                 18,
                                 {Ramp(4, 4), Values({2, 5}, {0, 0, 0, 1, 2, 0, 9, 9, 9, 9})},
                                 Attribute("pooled_shape", std::vector<int64_t>{1, 2})});
  // Columns 0 and 1 of rows 0 to 2. A region outside the image is empty.
  EXPECT_THAT(y.ToDoubles(), ElementsAre(20, 21, 0, 0));
}

TEST(MaxRoiPool, ChecksItsAttribute) {
  EXPECT_THAT(Error({"MaxRoiPool",
                     18,
                     {Ramp(4, 4), Values({1, 5}, {0, 0, 0, 1, 2})},
                     Attribute("pooled_shape", std::vector<int64_t>{1})}),
              HasSubstr("attribute 'pooled_shape' is [1]"));
}

TEST(MaxRoiPool, FindsNothingInRegionsThatAreNoNumbers) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto y = EvaluateTensor({"MaxRoiPool",
                                 18,
                                 {Ramp(4, 4), Values({3, 5}, {0, nan, nan, nan, nan, 0, 0, nan, 1,
                                                              1, 0, -infinity, 0, infinity, 1})},
                                 Attribute("pooled_shape", std::vector<int64_t>{1, 1})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(0, 0, 0));
}

TEST(MaxRoiPool, RefusesMoreBinsThanFitATable) {
  EXPECT_THAT(Error({"MaxRoiPool",
                     18,
                     {Ramp(4, 4), Values({1, 5}, {0, 0, 0, 1, 2})},
                     Attribute("pooled_shape", std::vector<int64_t>{1, int64_t{1} << 26})}),
              HasSubstr("a table of 1 x 67108864"));
}

}  // namespace
}  // namespace tartan::onnx::sampling_test
