// SPDX-License-Identifier: Apache-2.0
// Tests the distributions of random numbers, and compares seeded streams with NumPy.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/node_case.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::random_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Exceeded by one in a thousand samples of chi-square with 15 degrees of freedom.
constexpr double kChiSquare15 = 37.7;
constexpr int64_t kCount = 20000;

std::vector<HostTensor> Results(const OperatorCall& call) {
  const auto results = RunOperator(call);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *results : std::vector<HostTensor>(1);
}

absl::Status ErrorOf(const OperatorCall& call) { return RunOperator(call).status(); }

std::string Shape(const std::vector<int64_t>& dims) { return Attribute("shape", dims); }

double Mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double Variance(const std::vector<double>& x) {
  const double mean = Mean(x);
  double sum = 0;
  for (double v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(x.size());
}

// The chi-square statistic of numbers in [0, 1), counted in 16 equal intervals.
double ChiSquare(const std::vector<double>& x) {
  std::vector<double> counts(16);
  for (double v : x) counts.at(static_cast<size_t>(v * 16)) += 1;
  const double expected = static_cast<double>(x.size()) / 16;
  double sum = 0;
  for (double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(RandomUniform, WithASeedHasTheNumbersOfNumPy) {
  const auto y = Results({"RandomUniform", 13, {}, Shape({5}) + Attribute("seed", 0.0f)});
  const std::vector<double> expected = {0.5488135, 0.71518937, 0.60276338, 0.54488318, 0.4236548};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(y[0].GetDouble(i), expected[i], 1e-7);
}

TEST(RandomNormal, WithASeedHasTheNumbersOfNumPy) {
  const auto y = Results(
      {"RandomNormal",
       13,
       {},
       Shape({7}) + Attribute("seed", 0.0f) + Attribute("mean", 1.0f) + Attribute("scale", 2.0f)});
  const std::vector<double> standard = {1.76405235, 0.40015721,  0.97873798, 2.2408932,
                                        1.86755799, -0.97727788, 0.95008842};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(y[0].GetDouble(i), 1 + 2 * standard[i], 1e-6) << i;
  }
}

TEST(RandomUniform, IsUniform) {
  for (const std::string& seed :
       {std::string(), Attribute("seed", 7.5f), Attribute("seed", 3.0f)}) {
    for (int64_t type : {1, 11}) {  // float32, float64
      const auto y = Results({"RandomUniform",
                              13,
                              {},
                              Shape({kCount / 10, 10}) + Attribute("dtype", type) +
                                  Attribute("low", -3.0f) + Attribute("high", 5.0f) + seed});
      std::vector<double> parts = y[0].ToDoubles();
      for (double& part : parts) {
        ASSERT_GE(part, -3);
        ASSERT_LT(part, 5);
        part = (part + 3) / 8;
      }
      EXPECT_LT(ChiSquare(parts), kChiSquare15) << seed;
      EXPECT_NEAR(Mean(parts), 0.5, 0.01) << seed;
      EXPECT_NEAR(Variance(parts), 1.0 / 12, 0.003) << seed;
    }
  }
}

TEST(RandomNormal, IsNormal) {
  for (const std::string& seed : {std::string(), Attribute("seed", 3.0f)}) {
    const auto y =
        Results({"RandomNormal",
                 13,
                 {},
                 Shape({kCount}) + Attribute("mean", -2.0f) + Attribute("scale", 0.5f) + seed});
    EXPECT_NEAR(Mean(y[0].ToDoubles()), -2, 0.015) << seed;
    EXPECT_NEAR(Variance(y[0].ToDoubles()), 0.25, 0.01) << seed;
    std::vector<double> parts = y[0].ToDoubles();
    for (double& part : parts) part = 0.5 * std::erfc(-(part + 2) / 0.5 / std::sqrt(2.0));
    EXPECT_LT(ChiSquare(parts), kChiSquare15) << seed;
  }
}

TEST(RandomNormalLike, TakesShapeAndTypeFromItsOperand) {
  const HostTensor x = Values({3, 1, 5}, std::vector<double>(15), DataType::kFloat16);
  EXPECT_EQ(Results({"RandomNormalLike", 13, {x}})[0].shape(), x.shape());
  const auto wide = Results({"RandomUniformLike", 13, {x}, Attribute("dtype", int64_t{11})});
  EXPECT_EQ(wide[0].shape(), (TensorShape{DataType::kFloat64, {3, 1, 5}}));
}

TEST(RandomUniform, MakesScalarsAndNothing) {
  EXPECT_EQ(Results({"RandomUniform", 13, {}, Shape({2, 0, 3})})[0].element_count(), 0);
  EXPECT_EQ(
      Results({"RandomNormal", 13, {}, Shape({0}) + Attribute("seed", 1.0f)})[0].element_count(),
      0);
  const HostTensor scalar = Values({}, {1});
  EXPECT_EQ(Results({"RandomNormalLike", 13, {scalar}})[0].shape(), scalar.shape());
}

TEST(RandomUniform, RefusesWhatIsNoShapeOrNoFloat) {
  EXPECT_THAT(ErrorOf({"RandomUniform", 13, {}, Shape({2, -1})}).ToString(), HasSubstr("-1"));
  EXPECT_THAT(
      ErrorOf({"RandomUniform", 13, {}, Shape({2}) + Attribute("dtype", int64_t{7})}).ToString(),
      HasSubstr("random numbers of type int64"));
  EXPECT_FALSE(ErrorOf({"RandomNormal", 13, {}, Shape({int64_t{1} << 40, int64_t{1} << 40})}).ok());
}

std::vector<double> TwoNodes() {
  const std::string node = "node { op_type: 'RandomUniform' " + Shape({kCount / 2});
  const std::string bytes =
      ModelBytes(absl::StrCat("graph { ", node, " output: 'a' } ", node, " output: 'b' } ",
                              "node { op_type: 'Concat' input: 'a' input: 'b' output: 'c' ",
                              Attribute("axis", int64_t{0}), " } output { name: 'c' } }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  EXPECT_TRUE(model.ok()) << model.status();
  const auto bound = (*model)->Bind(std::vector<api::InputBinding>());
  EXPECT_TRUE(bound.ok()) << bound.status();
  const auto values = EvaluateValues(bound->outputs);
  EXPECT_TRUE(values.ok()) << values.status();
  return values->at(0).tensor().ToDoubles();
}

TEST(RandomUniform, HasAStreamForEachNode) {
  const std::vector<double> all = TwoNodes();
  const size_t half = all.size() / 2;
  double covariance = 0;
  for (size_t i = 0; i < half; ++i) covariance += (all[i] - 0.5) * (all[half + i] - 0.5);
  EXPECT_NEAR(covariance / static_cast<double>(half) * 12, 0, 0.04);  // four standard deviations
  EXPECT_EQ(all, TwoNodes());
}

TEST(Bernoulli, HasTheProbabilitiesOfItsOperand) {
  for (const std::string& seed : {std::string(), Attribute("seed", 5.0f)}) {
    std::vector<double> x(kCount);
    const std::vector<double> probabilities = {0, 0.1, 0.5, 1};
    for (size_t i = 0; i < x.size(); ++i) x[i] = probabilities[i % 4];
    const auto y =
        Results({"Bernoulli", 15, {Values({kCount}, x)}, Attribute("dtype", int64_t{7}) + seed});
    ASSERT_EQ(y[0].type(), DataType::kInt64);
    std::vector<double> counts(4);
    for (int64_t i = 0; i < kCount; ++i) counts[static_cast<size_t>(i % 4)] += y[0].GetDouble(i);
    EXPECT_EQ(counts[0], 0);
    EXPECT_NEAR(counts[1] / (kCount / 4), 0.1, 0.02) << seed;
    EXPECT_NEAR(counts[2] / (kCount / 4), 0.5, 0.03) << seed;
    EXPECT_EQ(counts[3], kCount / 4);
  }
}

TEST(Multinomial, TakesClassesByTheirWeights) {
  const double none = -std::numeric_limits<double>::infinity();
  // The first row has the weights 1 : 2 : 0 : 5 : 0, the second row a single nonzero weight.
  const HostTensor x =
      Values({2, 5}, {100, 100 + std::log(2.0), none, 100 + std::log(5.0), none,  //
                      none, -1000, none, none, none});
  for (const std::string& seed : {std::string(), Attribute("seed", 9.0f)}) {
    const auto y = Results({"Multinomial", 13, {x}, Attribute("sample_size", kCount) + seed});
    ASSERT_EQ(y[0].shape(), (TensorShape{DataType::kInt32, {2, kCount}}));
    std::vector<double> counts(5);
    for (int64_t i = 0; i < kCount; ++i) {
      counts.at(static_cast<size_t>(y[0].GetInt(i))) += 1;
      ASSERT_EQ(y[0].GetInt(kCount + i), 1);
    }
    EXPECT_EQ(counts[2] + counts[4], 0);
    double chi_square = 0;
    for (const auto& [c, weight] : {std::pair(0, 1), std::pair(1, 2), std::pair(3, 5)}) {
      const double expected = kCount * weight / 8.0;
      chi_square += std::pow(counts[static_cast<size_t>(c)] - expected, 2) / expected;
    }
    EXPECT_LT(chi_square, 13.8) << seed;  // one in a thousand, two degrees of freedom
  }
}

TEST(Multinomial, RefusesWhatIsNoMatrixOfWeights) {
  EXPECT_THAT(ErrorOf({"Multinomial", 13, {Values({3}, {0, 0, 0})}}).ToString(),
              HasSubstr("expected weights of rows of classes, got float32[3]"));
  EXPECT_THAT(ErrorOf({"Multinomial", 13, {Values({1, 0}, {})}}).ToString(),
              HasSubstr("float32[1, 0]"));
  EXPECT_THAT(
      ErrorOf({"Multinomial", 13, {Values({1, 1}, {0})}, Attribute("sample_size", int64_t{0})})
          .ToString(),
      HasSubstr("sample_size is 0"));
}

TEST(Dropout, InTrainingDropsItsPartAndScalesTheRest) {
  const HostTensor x = Values({kCount}, std::vector<double>(kCount, 3));
  const HostTensor yes = Values({}, {1}, DataType::kBool);
  for (const std::string& seed : {std::string(), Attribute("seed", int64_t{11})}) {
    const auto y = Results({"Dropout", 13, {x, Values({}, {0.25}), yes}, seed, 2});
    ASSERT_EQ(y[1].type(), DataType::kBool);
    double kept = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(y[0].GetDouble(i), y[1].GetInt(i) != 0 ? 4 : 0);
      kept += static_cast<double>(y[1].GetInt(i));
    }
    EXPECT_NEAR(kept / kCount, 0.75, 0.015) << seed;
  }
}

TEST(Dropout, KeepsAllOutsideTrainingAndWithRatioZero) {
  const HostTensor x = Values({3}, {1, -2, NAN});
  const HostTensor yes = Values({}, {1}, DataType::kBool);
  const HostTensor no = Values({}, {0}, DataType::kBool);
  const auto inference = Results({"Dropout", 13, {x, Values({}, {0.9}), no}, "", 2});
  EXPECT_THAT(inference[1].ToInts(), ElementsAre(1, 1, 1));
  EXPECT_TRUE(CompareTensors(inference[0], x, {}).ok());
  EXPECT_TRUE(CompareTensors(Results({"Dropout", 13, {x, Values({}, {0}), yes}})[0], x, {}).ok());
  EXPECT_THAT(ErrorOf({"Dropout", 13, {x, Values({}, {1}), yes}}).ToString(),
              HasSubstr("ratio 1 is not in [0, 1)"));
}

}  // namespace
}  // namespace tartan::onnx::random_test
