// SPDX-License-Identifier: Apache-2.0
// Tests of operators of ai.onnx.ml against results computed by hand.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::ml_test {
namespace {

using api::HostStrings;
using api::HostValue;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

OperatorCall Ml(const std::string& op, int opset, std::vector<HostValue> inputs,
                const std::string& fields = "", int outputs = 1) {
  return {op, 18, std::move(inputs), fields, outputs, "ai.onnx.ml", opset};
}

std::vector<HostValue> EvaluateAll(const OperatorCall& call) {
  const auto outputs = RunOperatorValues(call);
  if (outputs.ok()) return *outputs;
  ADD_FAILURE() << outputs.status();
  return std::vector<HostValue>(static_cast<size_t>(call.outputs), HostValue(Values({0}, {})));
}

std::vector<double> Numbers(const OperatorCall& call) {
  return EvaluateAll(call)[0].tensor().ToDoubles();
}

std::string Floats(const std::string& name, const std::vector<double>& values) {
  std::string text = "attribute { name: '" + name + "' type: FLOATS";
  for (double value : values) absl::StrAppend(&text, " floats: ", value);
  return text + " } ";
}

std::string Ints(const std::string& name, const std::vector<int64_t>& values) {
  return Attribute(name, values);
}

std::string Words(const std::string& name, const std::vector<std::string>& words) {
  std::string text = "attribute { name: '" + name + "' type: STRINGS";
  for (const std::string& word : words) text += " strings: '" + word + "'";
  return text + " } ";
}

// --- Features

TEST(ArrayFeatureExtractor, TakesColumnsAndMakesAVectorARow) {
  const HostValue positions(Values({2}, {2, 0}, DataType::kInt64));
  EXPECT_THAT(
      Numbers(Ml("ArrayFeatureExtractor", 1, {Values({2, 3}, {1, 2, 3, 4, 5, 6}), positions})),
      ElementsAre(3, 1, 6, 4));
  const HostValue y = EvaluateAll(
      Ml("ArrayFeatureExtractor", 1, {HostStrings({3}, {"a", "b", "c"}), positions}))[0];
  EXPECT_THAT(y.tensor().shape().dims, ElementsAre(1, 2));
  EXPECT_THAT(api::StringsOf(y), ElementsAre("c", "a"));
}

TEST(Normalizer, KeepsRowsOfZeros) {
  const HostValue x(Values({3, 2}, {3, -4, 0, 0, 1, 3}));
  EXPECT_THAT(Numbers(Ml("Normalizer", 1, {x}, Attribute("norm", "L1"))),
              Pointwise(DoubleNear(1e-6), {3.0 / 7, -4.0 / 7, 0.0, 0.0, 0.25, 0.75}));
  EXPECT_THAT(Numbers(Ml("Normalizer", 1, {x}, Attribute("norm", "L2"))),
              Pointwise(DoubleNear(1e-6), {0.6, -0.8, 0.0, 0.0, std::sqrt(0.1), std::sqrt(0.9)}));
  EXPECT_THAT(Numbers(Ml("Normalizer", 1, {x})),
              Pointwise(DoubleNear(1e-6), {1.0, -4.0 / 3, 0.0, 0.0, 1.0 / 3, 1.0}));
  EXPECT_THAT(Error(Ml("Normalizer", 1, {x}, Attribute("norm", "L3"))), HasSubstr("got L3"));
}

TEST(Scaler, ShiftsThenScalesEachFeature) {
  const HostValue x(Values({2, 2}, {1, 2, 3, 4}, DataType::kInt64));
  EXPECT_THAT(Numbers(Ml("Scaler", 1, {x}, Floats("offset", {1, 2}) + Floats("scale", {10, 0.5}))),
              ElementsAre(0, 0, 20, 1));
  EXPECT_THAT(Error(Ml("Scaler", 1, {x}, Floats("offset", {1, 2, 3}))),
              HasSubstr("'offset' has 3 elements"));
}

TEST(Imputer, ReplacesNaNAndIntegers) {
  EXPECT_THAT(Numbers(Ml("Imputer", 1, {Values({1, 3}, {std::nan(""), 5, std::nan("")})},
                         Floats("imputed_value_floats", {7, 8, 9}) +
                             "attribute { name: 'replaced_value_float' type: FLOAT f: nan }")),
              ElementsAre(7, 5, 9));
  EXPECT_THAT(Numbers(Ml("Imputer", 1, {HostValue(Values({3}, {-1, 0, -1}, DataType::kInt64))},
                         Ints("imputed_value_int64s", {4}) +
                             Attribute("replaced_value_int64", int64_t{-1}))),
              ElementsAre(4, 0, 4));
}

TEST(Binarizer, KeepsTheTypeOfItsOperand) {
  const HostValue y =
      EvaluateAll(Ml("Binarizer", 1, {HostValue(Values({3}, {0, 1, 2}, DataType::kInt32))},
                     Attribute("threshold", 1.0F)))[0];
  EXPECT_EQ(y.tensor().type(), DataType::kInt32);
  EXPECT_THAT(y.tensor().ToInts(), ElementsAre(0, 0, 1));
}

TEST(FeatureVectorizer, PutsColumnsSideBySide) {
  EXPECT_THAT(Numbers(Ml("FeatureVectorizer", 1,
                         {Values({2, 1}, {1, 2}),
                          HostValue(Values({2, 2}, {3, 4, 5, 6}, DataType::kInt64))})),
              ElementsAre(1, 3, 4, 2, 5, 6));
}

// --- Encoding

TEST(LabelEncoder, MapsStringsToStrings) {
  const HostValue y =
      EvaluateAll(Ml("LabelEncoder", 2, {HostStrings({2, 2}, {"a", "x", "b", "a"})},
                     Words("keys_strings", {"a", "b"}) + Words("values_strings", {"A", "B"})))[0];
  EXPECT_THAT(api::StringsOf(y), ElementsAre("A", "_Unused", "B", "A"));
}

TEST(LabelEncoder, FindsNaNAndTheLastOfEqualKeys) {
  const std::string fields =
      "attribute { name: 'keys_floats' type: FLOATS floats: nan floats: 1 "
      "floats: 1 } " +
      Ints("values_int64s", {5, 6, 7});
  EXPECT_THAT(Numbers(Ml("LabelEncoder", 4, {Values({3}, {1, 2, std::nan("")})}, fields)),
              ElementsAre(7, -1, 5));
}

TEST(LabelEncoder, MapsIntegersToFloats) {
  EXPECT_THAT(Numbers(Ml("LabelEncoder", 2, {HostValue(Values({3}, {9, -2, 4}, DataType::kInt64))},
                         Ints("keys_int64s", {4, 9}) + Floats("values_floats", {0.5, 2.5}) +
                             Attribute("default_float", 100.0F))),
              ElementsAre(2.5, 100, 0.5));
  EXPECT_THAT(Error(Ml("LabelEncoder", 2, {Values({1}, {1})},
                       Ints("keys_int64s", {4}) + Ints("values_int64s", {0}))),
              HasSubstr("keys of type int64 for elements of type float32"));
  EXPECT_THAT(Error(Ml("LabelEncoder", 2, {Values({1}, {1})},
                       Floats("keys_floats", {4}) + Ints("values_int64s", {0, 1}))),
              HasSubstr("1 keys for 2 values"));
}

TEST(LabelEncoder, GivesPositionsInItsFirstForm) {
  const std::string classes = Words("classes_strings", {"z", "y"});
  EXPECT_THAT(Numbers(Ml("LabelEncoder", 1, {HostStrings({3}, {"y", "z", "q"})}, classes)),
              ElementsAre(1, 0, -1));
  EXPECT_THAT(
      api::StringsOf(EvaluateAll(
          Ml("LabelEncoder", 1, {HostValue(Values({2}, {1, 2}, DataType::kInt64))}, classes))[0]),
      ElementsAre("y", "_Unused"));
}

TEST(CategoryMapper, MapsBothWays) {
  const std::string fields = Words("cats_strings", {"a", "b"}) + Ints("cats_int64s", {10, 20});
  EXPECT_THAT(Numbers(Ml("CategoryMapper", 1, {HostStrings({2}, {"b", "c"})}, fields)),
              ElementsAre(20, -1));
  EXPECT_THAT(
      api::StringsOf(EvaluateAll(Ml(
          "CategoryMapper", 1, {HostValue(Values({2}, {10, 11}, DataType::kInt64))}, fields))[0]),
      ElementsAre("a", "_Unused"));
}

TEST(OneHotEncoder, MakesARowPerElementAndRefusesStrangersIfAsked) {
  const HostValue x(Values({1, 2}, {3, 5}, DataType::kFloat32));
  const std::string fields = Ints("cats_int64s", {5, 4, 3});
  const HostValue y = EvaluateAll(Ml("OneHotEncoder", 1, {x}, fields))[0];
  EXPECT_THAT(y.tensor().shape().dims, ElementsAre(1, 2, 3));
  EXPECT_THAT(y.tensor().ToDoubles(), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(Numbers(Ml("OneHotEncoder", 1, {HostStrings({2}, {"q", "a"})},
                         Words("cats_strings", {"a", "b"}))),
              ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(
      Error(Ml("OneHotEncoder", 1, {Values({1}, {9})}, fields + Attribute("zeros", int64_t{0}))),
      HasSubstr("an element is not a category"));
}

// --- Linear models

TEST(LinearRegressor, HasOneRowOfCoefficientsPerTarget) {
  EXPECT_THAT(Numbers(Ml("LinearRegressor", 1, {Values({2, 2}, {1, 2, 3, 4})},
                         Floats("coefficients", {1, 0, 10, 1}) + Floats("intercepts", {0.5, 0}) +
                             Attribute("targets", int64_t{2}))),
              ElementsAre(1.5, 12, 3.5, 34));
  EXPECT_THAT(
      Error(Ml("LinearRegressor", 1, {Values({1, 2}, {1, 2})}, Floats("coefficients", {1, 2, 3}))),
      HasSubstr("3 elements for 2 features"));
}

TEST(LinearClassifier, GivesTheLabelOfTheGreatestScore) {
  const auto y = EvaluateAll(Ml("LinearClassifier", 1, {Values({2, 2}, {1, 0, 0, 1})},
                                Floats("coefficients", {1, 0, 0, 1, 2, 0}) +
                                    Words("classlabels_strings", {"x", "y", "z"}) +
                                    Attribute("post_transform", "SOFTMAX"),
                                2));
  EXPECT_THAT(api::StringsOf(y[0]), ElementsAre("z", "y"));
  const double sum = std::exp(1.0) + 1 + std::exp(2.0);
  const std::vector<double> scores = y[1].tensor().ToDoubles();
  EXPECT_THAT(std::vector<double>(scores.begin(), scores.begin() + 3),
              Pointwise(DoubleNear(1e-6), {std::exp(1.0) / sum, 1 / sum, std::exp(2.0) / sum}));
}

TEST(LinearClassifier, MakesTwoScoresOfOne) {
  const auto y = EvaluateAll(Ml("LinearClassifier", 1, {Values({2, 1}, {-2, 3})},
                                Floats("coefficients", {1}) + Ints("classlabels_ints", {7, 8}) +
                                    Attribute("post_transform", "LOGISTIC"),
                                2));
  EXPECT_THAT(y[0].tensor().ToInts(), ElementsAre(7, 8));
  const auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  EXPECT_THAT(
      y[1].tensor().ToDoubles(),
      Pointwise(DoubleNear(1e-6), {logistic(2.0), logistic(-2.0), logistic(-3.0), logistic(3.0)}));
}

TEST(LinearClassifier, RefusesStrings) {
  const std::string fields = Floats("coefficients", {1}) + Ints("classlabels_ints", {7, 8});
  EXPECT_THAT(Error(Ml("LinearClassifier", 1, {HostStrings({1, 1}, {"a"})}, fields, 2)),
              HasSubstr("elements of type string"));
}

TEST(SvmRegressor, KnowsItsKernels) {
  const auto with = [](const std::string& kernel) {
    return Numbers(Ml("SVMRegressor", 1, {Values({1, 2}, {1, 2})},
                      Floats("coefficients", {1, -1}) + Floats("support_vectors", {1, 0, 0, 1}) +
                          Floats("rho", {0.25}) + Attribute("n_supports", int64_t{2}) +
                          Floats("kernel_params", {0.5, 1, 2}) + Attribute("kernel_type", kernel)));
  };
  EXPECT_THAT(with("LINEAR"), Pointwise(DoubleNear(1e-6), {1 - 2 + 0.25}));
  EXPECT_THAT(with("POLY"), Pointwise(DoubleNear(1e-5), {2.25 - 4 + 0.25}));
  EXPECT_THAT(with("RBF"), Pointwise(DoubleNear(1e-6), {std::exp(-2.0) - std::exp(-1.0) + 0.25}));
  EXPECT_THAT(with("SIGMOID"),
              Pointwise(DoubleNear(1e-6), {std::tanh(1.5) - std::tanh(2.0) + 0.25}));
}

// --- Trees

// Two trees over two features: x0 <= 1 ? 10 : (x1 > 5 ? 20 : 30), and x1 < 0 ? 1 : 2.
std::string Nodes(const std::string& missing = "") {
  return Ints("nodes_treeids", {0, 0, 0, 0, 0, 1, 1, 1}) +
         Ints("nodes_nodeids", {0, 1, 2, 3, 4, 0, 1, 2}) +
         Ints("nodes_featureids", {0, 0, 1, 0, 0, 1, 0, 0}) +
         Words("nodes_modes",
               {"BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"}) +
         Floats("nodes_values", {1, 0, 5, 0, 0, 0, 0, 0}) +
         Ints("nodes_truenodeids", {1, 0, 3, 0, 0, 1, 0, 0}) +
         Ints("nodes_falsenodeids", {2, 0, 4, 0, 0, 2, 0, 0}) + missing;
}

std::string Votes(const std::string& prefix, const std::vector<int64_t>& ids,
                  const std::vector<double>& weights = {10, 20, 30, 1, 2}) {
  return Ints(prefix + "_treeids", {0, 0, 0, 1, 1}) + Ints(prefix + "_nodeids", {1, 3, 4, 1, 2}) +
         Ints(prefix + "_ids", ids) + Floats(prefix + "_weights", weights);
}

const std::vector<double>& Rows() {
  static const auto* const rows = new std::vector<double>{1, 6, 2, 6, 2, -1};
  return *rows;
}

TEST(TreeEnsembleRegressor, AggregatesTheVotesOfItsTrees) {
  const auto with = [](const std::string& aggregate) {
    return Numbers(Ml("TreeEnsembleRegressor", 1, {Values({3, 2}, Rows())},
                      Nodes() + Votes("target", {0, 0, 0, 0, 0}) +
                          Attribute("n_targets", int64_t{1}) +
                          Attribute("aggregate_function", aggregate)));
  };
  EXPECT_THAT(with("SUM"), ElementsAre(12, 22, 31));
  EXPECT_THAT(with("AVERAGE"), ElementsAre(6, 11, 15.5));
  EXPECT_THAT(with("MIN"), ElementsAre(2, 2, 1));
  EXPECT_THAT(with("MAX"), ElementsAre(10, 20, 30));
}

TEST(TreeEnsembleRegressor, AddsBaseValuesToEachTarget) {
  EXPECT_THAT(
      Numbers(Ml("TreeEnsembleRegressor", 1, {Values({3, 2}, Rows())},
                 Nodes() + Votes("target", {0, 1, 0, 1, 1}) + Attribute("n_targets", int64_t{2}) +
                     Floats("base_values", {0.5, 100}))),
      ElementsAre(10.5, 102, 0.5, 122, 30.5, 101));
}

TEST(TreeEnsembleRegressor, SendsNaNWhereTheNodeSays) {
  const HostValue x(Values({1, 2}, {std::nan(""), 6}));
  const std::string votes = Votes("target", {0, 0, 0, 0, 0});
  EXPECT_THAT(Numbers(Ml("TreeEnsembleRegressor", 1, {x}, Nodes() + votes)), ElementsAre(22));
  const std::string missing = Ints("nodes_missing_value_tracks_true", {1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(Numbers(Ml("TreeEnsembleRegressor", 1, {x}, Nodes(missing) + votes)),
              ElementsAre(12));
}

TEST(TreeEnsembleClassifier, GivesLabelsAndScores) {
  const auto y = EvaluateAll(
      Ml("TreeEnsembleClassifier", 1, {Values({3, 2}, Rows())},
         Nodes() + Votes("class", {0, 1, 2, 2, 0}) + Words("classlabels_strings", {"a", "b", "c"}),
         2));
  EXPECT_THAT(api::StringsOf(y[0]), ElementsAre("a", "b", "c"));
  EXPECT_THAT(y[1].tensor().ToDoubles(), ElementsAre(12, 0, 0, 2, 20, 0, 0, 0, 31));
}

TEST(TreeEnsembleClassifier, DecidesBetweenTwoClassesByTheScoreOfOne) {
  const auto with = [](const std::vector<double>& weights) {
    return EvaluateAll(
        Ml("TreeEnsembleClassifier", 1, {Values({3, 2}, Rows())},
           Nodes() + Votes("class", {1, 1, 1, 1, 1}, weights) + Ints("classlabels_int64s", {-5, 5}),
           2));
  };
  const auto positive = with({0.25, 0.5, 0.75, 0, 0.125});
  EXPECT_THAT(positive[0].tensor().ToInts(), ElementsAre(-5, 5, 5));
  EXPECT_THAT(positive[1].tensor().ToDoubles(),
              ElementsAre(0.625, 0.375, 0.375, 0.625, 0.25, 0.75));
  const auto any = with({-0.25, 0.5, 0.75, 0, 0.125});
  EXPECT_THAT(any[0].tensor().ToInts(), ElementsAre(-5, 5, 5));
  EXPECT_THAT(any[1].tensor().ToDoubles(), ElementsAre(0.125, -0.125, -0.625, 0.625, -0.75, 0.75));
}

TEST(TreeEnsemble, RefusesBranchesThatLeadNowhereOrBack) {
  const HostValue x(Values({1, 2}, {0, 0}));
  const auto with = [&](int64_t on_true, int64_t feature) {
    return Error(Ml(
        "TreeEnsembleRegressor", 1, {x},
        Ints("nodes_treeids", {0, 0}) + Ints("nodes_nodeids", {0, 1}) +
            Ints("nodes_featureids", {feature, 0}) + Words("nodes_modes", {"BRANCH_LEQ", "LEAF"}) +
            Floats("nodes_values", {0, 0}) + Ints("nodes_truenodeids", {on_true, 0}) +
            Ints("nodes_falsenodeids", {1, 0}) + Ints("target_treeids", {0}) +
            Ints("target_nodeids", {1}) + Ints("target_ids", {0}) + Floats("target_weights", {1})));
  };
  EXPECT_EQ(with(1, 0), "");
  EXPECT_THAT(with(2, 0), HasSubstr("a branch leads to node -1 of 2"));
  EXPECT_THAT(with(0, 0), HasSubstr("form a cycle"));
  EXPECT_THAT(with(1, 2), HasSubstr("feature 2 of 2"));
}

TEST(TreeEnsemble, WalksTreesDeeperThanAProgramHasSteps) {
  // A chain of nodes: x0 <= i ends at leaf i.
  constexpr int64_t kDepth = 40;
  std::vector<int64_t> trees, ids, features, yes, no, leaves, zeros;
  std::vector<std::string> modes;
  std::vector<double> values, weights;
  for (int64_t i = 0; i < kDepth; ++i) {
    const int64_t leaf = kDepth + i;
    trees.push_back(0);
    ids.push_back(i);
    features.push_back(0);
    modes.push_back("BRANCH_LEQ");
    values.push_back(static_cast<double>(i));
    yes.push_back(leaf);
    no.push_back(i + 1 < kDepth ? i + 1 : 2 * kDepth);
  }
  for (int64_t i = kDepth; i <= 2 * kDepth; ++i) {
    trees.push_back(0);
    ids.push_back(i);
    features.push_back(0);
    modes.push_back("LEAF");
    values.push_back(0);
    yes.push_back(0);
    no.push_back(0);
    leaves.push_back(i);
    zeros.push_back(0);
    weights.push_back(static_cast<double>(i - kDepth));
  }
  EXPECT_THAT(Numbers(Ml("TreeEnsembleRegressor", 1, {Values({4, 1}, {-3, 0.5, 38.5, 1000})},
                         Ints("nodes_treeids", trees) + Ints("nodes_nodeids", ids) +
                             Ints("nodes_featureids", features) + Words("nodes_modes", modes) +
                             Floats("nodes_values", values) + Ints("nodes_truenodeids", yes) +
                             Ints("nodes_falsenodeids", no) + Ints("target_treeids", zeros) +
                             Ints("target_nodeids", leaves) + Ints("target_ids", zeros) +
                             Floats("target_weights", weights))),
              ElementsAre(0, 1, 39, 40));
}

}  // namespace
}  // namespace tartan::onnx::ml_test
