// SPDX-License-Identifier: Apache-2.0
// Tests of operators used outside the operator sets to which they belong.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::legacy_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  EXPECT_THAT(actual, Pointwise(DoubleNear(1e-5), expected));
}

std::string Numbers(const std::string& name, const std::vector<float>& values) {
  std::string text = "attribute { name: '" + name + "' type: FLOATS";
  for (float value : values) text += " floats: " + std::to_string(value);
  return text + " } ";
}

TEST(ImageScaler, ScalesAndAddsANumberForEachChannel) {
  const HostTensor x = Values({1, 2, 1, 2}, {1, 2, 3, 4});
  const std::string fields = Attribute("scale", 2.0f) + Numbers("bias", {10, 20});
  EXPECT_THAT(Evaluate({"ImageScaler", 7, {x}, fields}), ElementsAre(12, 14, 26, 28));
  EXPECT_THAT(Error({"ImageScaler", 7, {x}, Numbers("bias", {1})}), HasSubstr("2 channels"));
}

TEST(Crop, TakesBordersOrASizeBehindThem) {
  const HostTensor x = Values({1, 1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const std::string border = Attribute("border", std::vector<int64_t>{1, 0, 2, 1});
  EXPECT_THAT(Evaluate({"Crop", 7, {x}, border}), ElementsAre(1, 5));
  const std::string sized = border + Attribute("scale", std::vector<int64_t>{2, 3});
  EXPECT_THAT(Evaluate({"Crop", 7, {x}, sized}), ElementsAre(1, 2, 3, 5, 6, 7));
  const std::string large = border + Attribute("scale", std::vector<int64_t>{2, 4});
  EXPECT_THAT(Error({"Crop", 7, {x}, large}), HasSubstr("dimension 3"));
}

TEST(Legacy, HasTheExperimentalFunctionsOfAlphaAndBeta) {
  const HostTensor x = Values({2}, {-1, 2});
  const std::string fields = Attribute("alpha", 2.0f) + Attribute("beta", 3.0f);
  EXPECT_THAT(Evaluate({"Affine", 7, {x}, fields}), ElementsAre(1, 7));
  ExpectNear(Evaluate({"ScaledTanh", 7, {x}, fields}), {-1.9901095, 1.9999754});
  ExpectNear(Evaluate({"ParametricSoftplus", 7, {x}, fields}), {0.0971747, 12.0049514});
  EXPECT_THAT(Evaluate({"Scale", 7, {x}, Attribute("scale", 4.0f)}), ElementsAre(-4, 8));
}

TEST(GivenTensorFill, PutsItsValuesInAShape) {
  const std::string values = Numbers("values", {1, 2, 3, 4});
  const HostTensor y = EvaluateTensor(
      {"GivenTensorFill", 7, {}, values + Attribute("shape", std::vector<int64_t>{2, 2})});
  EXPECT_THAT(y.shape().dims, ElementsAre(2, 2));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(1, 2, 3, 4));
  const HostTensor shape = Values({1}, {4}, DataType::kInt64);
  EXPECT_THAT(
      Evaluate({"GivenTensorFill", 7, {shape}, values + Attribute("input_as_shape", int64_t{1})}),
      ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Error({"GivenTensorFill", 7, {shape}, values}), HasSubstr("4 values"));
}

TEST(MeanVarianceNormalization, MayLeaveTheVarianceInTheOldForm) {
  const HostTensor x = Values({1, 2, 1, 2}, {1, 3, 5, 9});
  EXPECT_THAT(
      Evaluate({"MeanVarianceNormalization", 7, {x}, Attribute("normalize_variance", int64_t{0})}),
      ElementsAre(-1, 1, -2, 2));
  ExpectNear(
      Evaluate({"MeanVarianceNormalization", 7, {x}, Attribute("across_channels", int64_t{1})}),
      {-1.1832160, -0.5070926, 0.1690309, 1.5212777});
}

TEST(Upsample, TakesItsScalesFromSidesInTheFirstForm) {
  const std::string fields = Attribute("width_scale", 2.0f) + Attribute("height_scale", 1.0f);
  EXPECT_THAT(Evaluate({"Upsample", 1, {Values({1, 1, 1, 2}, {1, 2})}, fields}),
              ElementsAre(1, 1, 2, 2));
}

// Exporters of fused graphs write a Gemm of rows in more dimensions this way.
TEST(Gemm, TakesRowsInMoreDimensions) {
  const HostTensor a = Values({2, 1, 2}, {1, 2, 3, 4});
  const HostTensor b = Values({2, 3}, {1, 0, 1, 0, 1, 1});
  const HostTensor y = EvaluateTensor({"Gemm", 13, {a, b, Values({3}, {10, 20, 30})}});
  EXPECT_THAT(y.shape().dims, ElementsAre(2, 1, 3));
  EXPECT_THAT(y.ToDoubles(), ElementsAre(11, 22, 33, 13, 24, 37));
  EXPECT_THAT(Error({"Gemm", 13, {a, b}, Attribute("transA", int64_t{1})}),
              HasSubstr("expected two matrices"));
}

TEST(Legacy, TakesOperatorsOfLaterOperatorSetsAsTheyCameToBe) {
  ExpectNear(Evaluate({"Gelu", 13, {Values({2}, {-1, 1})}}), {-0.1586553, 0.8413447});
  const HostTensor x = Values({1, 2}, {1, 3});
  const HostTensor one = Values({2}, {1, 1});
  ExpectNear(Evaluate({"LayerNormalization", 11, {x, one}, Attribute("epsilon", 0.0f)}), {-1, 1});
  ExpectNear(Evaluate({"RMSNormalization", 17, {x, one}, Attribute("epsilon", 0.0f)}),
             {0.4472136, 1.3416408});
}

}  // namespace
}  // namespace tartan::onnx::legacy_test
