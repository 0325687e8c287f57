// SPDX-License-Identifier: Apache-2.0
// Tests of ai.onnx.ml: maps, classifiers that return maps, and support vector classifiers.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/onnx/values/value_proto.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/node_case.h"
#include "tests/frontend/onnx/run_operator.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::ml_maps_test {
namespace {

using api::HostStrings;
using api::HostValue;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

OperatorCall Ml(const std::string& op, std::vector<HostValue> inputs, const std::string& fields,
                int outputs = 1) {
  return {op, 18, std::move(inputs), fields, outputs, "ai.onnx.ml", 1};
}

std::vector<HostValue> EvaluateAll(const OperatorCall& call) {
  const auto outputs = RunOperatorValues(call);
  if (outputs.ok()) return *outputs;
  ADD_FAILURE() << outputs.status();
  const HostValue none(Values({0}, {}));
  return std::vector<HostValue>(static_cast<size_t>(call.outputs), HostValue::Map(none, none));
}

std::string Floats(const std::string& name, const std::vector<double>& values) {
  std::string text = "attribute { name: '" + name + "' type: FLOATS";
  for (double value : values) absl::StrAppend(&text, " floats: ", value);
  return text + " } ";
}

std::string Words(const std::string& name, const std::vector<std::string>& words) {
  std::string text = "attribute { name: '" + name + "' type: STRINGS";
  for (const std::string& word : words) text += " strings: '" + word + "'";
  return text + " } ";
}

std::string Text(const std::string& name, const std::string& value) {
  return Attribute(name, value);
}

std::string Longs(const std::string& name, const std::vector<int64_t>& values) {
  return Attribute(name, values);
}

HostValue Ints(const std::vector<double>& values) {
  return Values({static_cast<int64_t>(values.size())}, values, DataType::kInt64);
}

HostValue Numbers(const std::vector<double>& values) {
  return Values({static_cast<int64_t>(values.size())}, values);
}

// --- ZipMap

TEST(ZipMap, NamesTheColumnsOfEachRow) {
  const HostValue scores = Values({2, 3}, {1, 2, 3, 4, 5, 6});
  const HostValue y =
      EvaluateAll(Ml("ZipMap", {scores}, Words("classlabels_strings", {"b", "a", "c"})))[0];
  ASSERT_TRUE(y.is_map());
  EXPECT_EQ(Describe(y), "sequence of 2 maps of 3 from string to float32");
  EXPECT_THAT(api::StringsOf(y.keys()), ElementsAre("b", "a", "c"));
  EXPECT_THAT(y.values().tensor().ToDoubles(), ElementsAre(1, 2, 3, 4, 5, 6));
  const HostValue row =
      EvaluateAll(Ml("ZipMap", {Numbers({7, 8})}, Longs("classlabels_int64s", {10, -3})))[0];
  EXPECT_EQ(Describe(row), "sequence of 1 maps of 2 from int64 to float32");
  EXPECT_THAT(row.keys().tensor().ToInts(), ElementsAre(10, -3));
}

TEST(ZipMap, RefusesAnotherNumberOfKeysThanColumns) {
  EXPECT_THAT(Error(Ml("ZipMap", {Values({2, 3}, {1, 2, 3, 4, 5, 6})},
                       Longs("classlabels_int64s", {1, 2}))),
              HasSubstr("2 keys for float32[2, 3]"));
}

TEST(Operators, OfTensorsRefuseMaps) {
  EXPECT_THAT(Error({"Neg", 13, {HostValue::Map(Ints({1}), Numbers({1}))}}),
              HasSubstr("operand 0 is a map"));
}

// --- DictVectorizer, CastMap

TEST(DictVectorizer, PutsValuesWhereTheVocabularyHasTheirKeys) {
  const std::string vocabulary = Words("string_vocabulary", {"a", "c", "b", "z"});
  const HostValue y = EvaluateAll(
      Ml("DictVectorizer", {HostValue::Map(HostStrings({2}, {"c", "a"}), Numbers({8, 4}))},
         vocabulary))[0];
  EXPECT_THAT(y.tensor().shape().dims, ElementsAre(1, 4));
  EXPECT_THAT(y.tensor().ToDoubles(), ElementsAre(4, 8, 0, 0));
  const HostValue words = EvaluateAll(
      Ml("DictVectorizer", {HostValue::Map(Ints({3, 1}), HostStrings({2}, {"three", "one"}))},
         Longs("int64_vocabulary", {1, 2, 3})))[0];
  EXPECT_THAT(api::StringsOf(words), ElementsAre("one", "", "three"));
  EXPECT_THAT(Error(Ml("DictVectorizer", {HostValue::Map(Ints({3}), Numbers({1}))}, vocabulary)),
              HasSubstr("differ in type"));
}

TEST(CastMap, OrdersValuesByTheirKeys) {
  const HostValue map = HostValue::Map(Ints({5, 0, 2}), Numbers({50, 1.75, -20}));
  EXPECT_THAT(EvaluateAll(Ml("CastMap", {map}, Text("map_form", "DENSE")))[0].tensor().ToDoubles(),
              ElementsAre(1.75, -20, 50));
  const HostValue sparse =
      EvaluateAll(Ml("CastMap", {map},
                     Text("map_form", "SPARSE") + Attribute("max_map", int64_t{7}) +
                         Text("cast_to", "TO_INT64")))[0];
  EXPECT_THAT(sparse.tensor().shape().dims, ElementsAre(1, 7));
  EXPECT_THAT(sparse.tensor().ToInts(), ElementsAre(1, 0, -20, 0, 0, 50, 0));
  EXPECT_THAT(
      Error(Ml("CastMap", {map}, Text("map_form", "SPARSE") + Attribute("max_map", int64_t{5}))),
      HasSubstr("key 5 with attribute 'max_map' 5"));
}

TEST(CastMap, ReadsAndWritesNumbers) {
  const HostValue words = HostValue::Map(Ints({1, 0}), HostStrings({2}, {"2.5", "-1"}));
  EXPECT_THAT(
      EvaluateAll(Ml("CastMap", {words}, Text("cast_to", "TO_FLOAT")))[0].tensor().ToDoubles(),
      ElementsAre(-1, 2.5));
  const HostValue numbers = HostValue::Map(Ints({1, 0}), Numbers({2.5, -1}));
  EXPECT_THAT(
      api::StringsOf(EvaluateAll(Ml("CastMap", {numbers}, Text("cast_to", "TO_STRING")))[0]),
      ElementsAre("-1.0", "2.5"));
  for (const char* word : {"x", ""}) {
    EXPECT_THAT(Error(Ml("CastMap", {HostValue::Map(Ints({0}), HostStrings({1}, {word}))}, "")),
                HasSubstr(absl::StrCat("'", word, "' is not a number")));
  }
}

// onnxruntime writes six decimals, so that its texts of 1e-7 and of 0 are equal. The standard does
// not define the text; Tartan's reads back to the number, as Cast's does.
TEST(CastMap, WritesTextsThatReadBackToTheSameNumber) {
  const std::vector<float> numbers = {0.1F,    16777216, 123456.7F, 1234567, 1e-7F,
                                      3.4e38F, 1e-45F,   -0.0F,     1 / 3.F, 100000};
  std::vector<double> keys(numbers.size());
  std::iota(keys.begin(), keys.end(), 0);
  const int64_t count = static_cast<int64_t>(numbers.size());
  const HostValue values(HostTensor::FromVector<float>({DataType::kFloat32, {count}}, numbers));
  const HostValue map = HostValue::Map(Ints(keys), values);
  const std::vector<std::string> texts =
      api::StringsOf(EvaluateAll(Ml("CastMap", {map}, Text("cast_to", "TO_STRING")))[0]);
  ASSERT_EQ(texts.size(), numbers.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(std::strtof(texts[i].c_str(), nullptr), numbers[i]) << texts[i];
  }
  EXPECT_EQ(texts[0], "0.1");
  EXPECT_EQ(texts[7], "-0.0");
  const HostValue back = HostValue::Map(Ints(keys), HostStrings({count}, texts));
  const HostValue read = EvaluateAll(Ml("CastMap", {back}, Text("cast_to", "TO_FLOAT")))[0];
  EXPECT_EQ(read.tensor().bytes(), values.tensor().bytes());
}

TEST(CastMap, ReadsWholeNumbersBeyondTheDigitsOfAFloat) {
  const HostValue words =
      HostValue::Map(Ints({0, 1, 2, 3}),
                     HostStrings({4}, {"9007199254740993", "9223372036854775807", "-7.9", "1e3"}));
  EXPECT_THAT(EvaluateAll(Ml("CastMap", {words}, Text("cast_to", "TO_INT64")))[0].tensor().ToInts(),
              ElementsAre(9007199254740993, 9223372036854775807, -7, 1000));
}

// --- Models that end in maps, as scikit-learn's converters write them

absl::StatusOr<std::vector<HostValue>> RunModel(const std::string& nodes, const HostValue& x) {
  const std::string map_type =
      "type { sequence_type { elem_type { map_type { key_type: 8 value_type { tensor_type { "
      "elem_type: 1 } } } } } }";
  const std::string bytes = ModelBytes(
      absl::StrCat("opset_import { domain: 'ai.onnx.ml' version: 1 } graph { ", nodes,
                   ValueText("input", "x", 1, "N 2"), ValueText("output", "label", 8, "N"),
                   "output { name: 'probabilities' ", map_type, " } }"));
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  EXPECT_EQ(model->outputs()[1].ToString(), "probabilities: sequence of map of string to float32");
  api::InputBinding binding;
  binding.shape = x.tensor().shape();
  binding.value = &x;
  TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model->Bind({binding}));
  return EvaluateValues(bound.outputs);
}

const char kZipMap[] =
    "node { op_type: 'ZipMap' domain: 'ai.onnx.ml' input: 'p' output: 'probabilities' "
    "attribute { name: 'classlabels_strings' type: STRINGS strings: 'no' strings: 'yes' } } ";

TEST(ZipMap, EndsALinearClassifier) {
  const auto y =
      RunModel(absl::StrCat("node { op_type: 'LinearClassifier' domain: 'ai.onnx.ml' input: 'x' "
                            "output: 'label' output: 'p' ",
                            Words("classlabels_strings", {"no", "yes"}),
                            Floats("coefficients", {-1, 0, 1, 0}), Floats("intercepts", {0, 0}),
                            Text("post_transform", "SOFTMAX"), "} ", kZipMap),
               Values({2, 2}, {1, 9, -2, 9}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(api::StringsOf((*y)[0]), ElementsAre("yes", "no"));
  const double a = 1 / (1 + std::exp(2.0));
  const double b = 1 / (1 + std::exp(-4.0));
  EXPECT_THAT((*y)[1].values().tensor().ToDoubles(),
              Pointwise(DoubleNear(1e-6), {a, 1 - a, b, 1 - b}));
}

TEST(ZipMap, EndsATreeEnsembleClassifier) {
  // The tree is x0 <= 1 ? no : yes.
  const auto y = RunModel(
      absl::StrCat("node { op_type: 'TreeEnsembleClassifier' domain: 'ai.onnx.ml' input: 'x' "
                   "output: 'label' output: 'p' ",
                   Longs("nodes_treeids", {0, 0, 0}), Longs("nodes_nodeids", {0, 1, 2}),
                   Longs("nodes_featureids", {0, 0, 0}),
                   Words("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
                   Floats("nodes_values", {1, 0, 0}), Longs("nodes_truenodeids", {1, 0, 0}),
                   Longs("nodes_falsenodeids", {2, 0, 0}), Longs("class_treeids", {0, 0}),
                   Longs("class_nodeids", {1, 2}), Longs("class_ids", {0, 1}),
                   Floats("class_weights", {1, 1}), Words("classlabels_strings", {"no", "yes"}),
                   "} ", kZipMap),
      Values({3, 2}, {0, 0, 1, 0, 2, 0}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(api::StringsOf((*y)[0]), ElementsAre("no", "no", "yes"));
  EXPECT_EQ(Describe((*y)[1]), "sequence of 3 maps of 2 from string to float32");
  EXPECT_THAT((*y)[1].values().tensor().ToDoubles(), ElementsAre(1, 0, 1, 0, 0, 1));
}

// --- Files

TEST(MapFile, HoldsAMapOrSeveralWithTheSameKeys) {
  SequenceProto sequence;
  for (const float first : {1.0f, 3.0f}) {
    MapProto* map = sequence.add_map_values();
    map->set_key_type(7);
    for (int k = 0; k < 2; ++k) {
      map->add_keys(k + 4);
      TensorProto* value = map->mutable_values()->add_tensor_values();
      value->set_data_type(1);
      value->add_float_data(first + static_cast<float>(k));
    }
  }
  const std::string path = testing::TempDir() + "/maps.pb";
  const auto read = [&](const auto& message, int depth) {
    std::ofstream(path, std::ios::binary) << message.SerializeAsString();
    api::TensorSpec spec;
    spec.type = DataType::kFloat32;
    spec.sequence_depth = depth;
    spec.map_keys = api::Element::kPlain;
    return ReadValueFile(path, spec);
  };
  const auto several = read(sequence, 1);
  ASSERT_TRUE(several.ok()) << several.status();
  EXPECT_EQ(Describe(*several), "sequence of 2 maps of 2 from int64 to float32");
  EXPECT_THAT(several->values().tensor().ToDoubles(), ElementsAre(1, 2, 3, 4));
  const auto one = read(sequence.map_values(0), 0);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(Describe(*one), "map of 2 from int64 to float32");
  EXPECT_THAT(one->keys().tensor().ToInts(), ElementsAre(4, 5));
  sequence.mutable_map_values(1)->set_keys(0, 9);
  EXPECT_THAT(std::string(read(sequence, 1).status().message()),
              HasSubstr("maps with different keys"));
  sequence.mutable_map_values(0)->add_keys(1);
  EXPECT_THAT(std::string(read(sequence, 1).status().message()),
              HasSubstr("a map of 3 keys and 2 values"));
}

// --- SVMClassifier

// Three classes with one vector each: the unit vectors of three features.
std::string UnitVectors(const std::string& more) {
  return Longs("vectors_per_class", {1, 1, 1}) +
         Floats("support_vectors", {1, 0, 0, 0, 1, 0, 0, 0, 1}) +
         Floats("coefficients", {1, -1, -1, 1, 1, -1}) + Floats("rho", {0, 0, 0.5}) + more;
}

TEST(SVMClassifier, LetsEachPairOfClassesVote) {
  const auto y = EvaluateAll(Ml("SVMClassifier", {Values({2, 3}, {3, 2, 1, 0, 1, 2})},
                                UnitVectors(Words("classlabels_strings", {"x", "y", "z"})), 2));
  EXPECT_THAT(api::StringsOf(y[0]), ElementsAre("x", "z"));
  // The scores of the pairs (x, y), (x, z), (y, z): the difference of the two features plus the
  // offset.
  EXPECT_THAT(y[1].tensor().ToDoubles(), ElementsAre(1, 2, 1.5, -1, -2, -0.5));
}

TEST(SVMClassifier, CouplesTheProbabilitiesOfPairs) {
  const auto y =
      EvaluateAll(Ml("SVMClassifier", {Values({2, 3}, {3, 2, 1, 0, 0, 0})},
                     UnitVectors(Longs("classlabels_ints", {7, 8, 9}) +
                                 Floats("prob_a", {-1, -1, -1}) + Floats("prob_b", {0, 0, 0.5})),
                     2));
  EXPECT_EQ(y[0].tensor().GetInt(0), 7);
  const std::vector<double> p = y[1].tensor().ToDoubles();
  ASSERT_EQ(p.size(), 6u);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-5);
  EXPECT_GT(p[0], p[1]);
  EXPECT_GT(p[1], p[2]);
  // Every pair is even: scores (0, 0, 0.5), with the offset of the last taken back.
  for (int k = 3; k < 6; ++k) EXPECT_NEAR(p[static_cast<size_t>(k)], 1.0 / 3, 1e-6);
}

TEST(SVMClassifier, GivesTwoClassesOppositeScores) {
  const std::string two = Longs("vectors_per_class", {1, 1}) + Floats("support_vectors", {1, -1}) +
                          Floats("coefficients", {1, -0.5}) + Floats("rho", {0.25}) +
                          Longs("classlabels_ints", {3, 4});
  const auto y = EvaluateAll(Ml("SVMClassifier", {Values({2, 1}, {1, -1})}, two, 2));
  EXPECT_THAT(y[0].tensor().ToInts(), ElementsAre(3, 4));
  EXPECT_THAT(y[1].tensor().ToDoubles(), ElementsAre(-1.75, 1.75, 1.25, -1.25));
}

TEST(SVMClassifier, IsLinearWithoutVectors) {
  const auto y = EvaluateAll(Ml("SVMClassifier", {Values({2, 2}, {1, 2, 5, 0})},
                                Floats("coefficients", {0, 1, 1, -1}) + Floats("rho", {0.5}) +
                                    Longs("classlabels_ints", {3, 4}),
                                2));
  EXPECT_THAT(y[1].tensor().ToDoubles(), ElementsAre(2.5, -0.5, 0.5, 5.5));
  EXPECT_THAT(y[0].tensor().ToInts(), ElementsAre(3, 4));
}

TEST(SVMClassifier, SaysWhichNumbersDoNotFit) {
  const HostValue x = Values({1, 2}, {1, 2});
  EXPECT_THAT(
      Error(Ml("SVMClassifier", {x}, UnitVectors(Longs("classlabels_ints", {1, 2, 3})), 2)),
      HasSubstr(
          "6 coefficients, 9 elements of vectors and 3 offsets for 3 classes with 3 vectors of 2"));
  EXPECT_THAT(Error(Ml("SVMClassifier", {x}, UnitVectors(Longs("classlabels_ints", {1, 2})), 2)),
              HasSubstr("'vectors_per_class' has 3 elements for 2 classes"));
  EXPECT_THAT(Error(Ml("SVMClassifier", {x}, "", 2)), HasSubstr("the class labels are missing"));
}

}  // namespace
}  // namespace tartan::onnx::ml_maps_test
