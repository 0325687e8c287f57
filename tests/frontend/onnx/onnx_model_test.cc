// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/onnx_model.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::onnx_model_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using ModelPtr = std::shared_ptr<const OnnxModel>;

absl::StatusOr<ModelPtr> Load(const std::string& graph, int opset = 13) {
  const std::string bytes = ModelBytes(absl::StrCat("graph { ", graph, " }"), opset);
  return OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
}

std::string Node(const std::string& op, const std::string& name,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& more = "") {
  std::string text = absl::StrCat("node { op_type: '", op, "' name: '", name, "' ", more);
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  for (const std::string& output : outputs) absl::StrAppend(&text, " output: '", output, "'");
  return text + " } ";
}

std::string X(const std::string& dims = "2 3") { return ValueText("input", "x", 1, dims); }
std::string Y() { return "output { name: 'y' } "; }

// Binds the one input x, float32 of `dims`.
absl::StatusOr<api::BoundGraph> Bind(const ModelPtr& model, std::vector<int64_t> dims) {
  api::InputBinding binding;
  binding.shape = {DataType::kFloat32, std::move(dims)};
  return model->Bind({binding});
}

TEST(OnnxModel, DescribesItsInputs) {
  const auto model = Load(X("N 3 224") + Node("Relu", "r", {"x"}, {"y"}) + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  const api::TensorSpec& spec = (*model)->inputs().at(0);
  EXPECT_THAT(spec.dims, ElementsAre(-1, 3, 224));
  EXPECT_EQ(spec.dim_names.at(0), "N");
  EXPECT_EQ(spec.type, DataType::kFloat32);
  EXPECT_FALSE((*model)->outputs().at(0).has_rank);
}

TEST(OnnxModel, TakesInitialisersForDefaultsButBeforeIrVersion4ForWeights) {
  const std::string graph = "initializer { name: 'w' data_type: 1 dims: 1 float_data: 3 } " +
                            ValueText("input", "w", 1, "1") + X() +
                            Node("Mul", "scale", {"x", "w"}, {"y"}) + Y();
  const auto newer = Load(graph);
  ASSERT_TRUE(newer.ok()) << newer.status();
  ASSERT_EQ((*newer)->inputs().size(), 2u);
  EXPECT_TRUE((*newer)->inputs()[0].is_optional);
  EXPECT_FALSE((*newer)->inputs()[1].is_optional);
  const auto older = Load(graph + "} ir_version: 3 metadata_props { ");
  ASSERT_TRUE(older.ok()) << older.status();
  ASSERT_EQ((*older)->inputs().size(), 1u);
  EXPECT_EQ((*older)->inputs()[0].name, "x");
  const auto bound = Bind(*older, {2, 3});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->outputs.at(0).tensor().dims(), ElementsAre(2, 3));
}

TEST(OnnxModel, HasTheMetadataOfItsFile) {
  const std::string graph = X() + Node("Relu", "r", {"x"}, {"y"}) + Y();
  const auto model = Load(graph +
                          "name: 'g' doc_string: 'of g' } producer_name: 'maker' "
                          "producer_version: '2.1' domain: 'org.example' model_version: 7 "
                          "doc_string: 'what it does' metadata_props { key: 'a' value: '1' } "
                          "metadata_props { key: 'b' ");
  ASSERT_TRUE(model.ok()) << model.status();
  const ModelMetadata& metadata = (*model)->metadata();
  EXPECT_EQ((*model)->producer(), "maker 2.1");
  EXPECT_EQ(metadata.domain, "org.example");
  EXPECT_EQ(metadata.version, 7);
  EXPECT_EQ(metadata.description, "what it does");
  EXPECT_EQ(metadata.graph_name, "g");
  EXPECT_EQ(metadata.graph_description, "of g");
  EXPECT_EQ(metadata.properties, (std::map<std::string, std::string>{{"a", "1"}, {"b", ""}}));
}

TEST(OnnxModel, CountsItsOperators) {
  const auto model = Load(X() + Node("Relu", "a", {"x"}, {"b"}) + Node("Relu", "c", {"b"}, {"d"}) +
                          Node("Frobnicate", "e", {"d"}, {"y"}) + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ((*model)->operators().size(), 2u);
  EXPECT_FALSE((*model)->operators()[0].supported);
  EXPECT_EQ((*model)->operators()[1].count, 2);
  EXPECT_TRUE((*model)->operators()[1].supported);
}

TEST(OnnxModel, SortsNodes) {
  const auto model =
      Load(X() + Node("Relu", "second", {"a"}, {"y"}) + Node("Abs", "first", {"x"}, {"a"}) + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = Bind(*model, {2, 3});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->outputs.at(0).tensor().dims(), ElementsAre(2, 3));
}

TEST(OnnxModel, NamesTheNodesOfACycle) {
  const auto model = Load(X() + Node("Add", "p", {"x", "b"}, {"a"}) +
                          Node("Relu", "q", {"a"}, {"b"}) + "output { name: 'b' }");
  EXPECT_THAT(model.status().message(),
              AllOf(HasSubstr("cycle"), HasSubstr("p (Add)"), HasSubstr("q (Relu)")));
}

TEST(OnnxModel, NamesWhatIsDefinedTwice) {
  const auto model =
      Load(X() + Node("Relu", "p", {"x"}, {"y"}) + Node("Abs", "q", {"x"}, {"y"}) + Y());
  EXPECT_THAT(model.status().message(),
              AllOf(HasSubstr("'y'"), HasSubstr("p (Relu)"), HasSubstr("q (Abs)")));
}

TEST(OnnxModel, NamesWhatIsNotDefined) {
  const auto model = Load(X() + Node("Add", "p", {"x", "ghost"}, {"y"}) + Y());
  EXPECT_THAT(model.status().message(), AllOf(HasSubstr("p (Add)"), HasSubstr("'ghost'")));
  EXPECT_THAT(Load(X() + Y()).status().message(), HasSubstr("'y'"));
}

TEST(OnnxModel, ReportsAllMissingOperatorsAtOnce) {
  const auto model = Load(X() + Node("Frobnicate", "p", {"x"}, {"a"}) +
                              Node("Normalizer", "q", {"a"}, {"b"}, "domain: 'ai.onnx.training'") +
                              Node("Relu", "r", {"b"}, {"y"}, "domain: 'com.example'") + Y() +
                              "} opset_import { domain: 'com.example' version: 1 } "
                              "opset_import { domain: 'ai.onnx.training' version: 1 ",
                          11);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = Bind(*model, {2, 3});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(bound.status().message(),
              AllOf(HasSubstr("p (Frobnicate, opset 11): unknown operator"),
                    HasSubstr("q (ai.onnx.training.Normalizer, opset 1): unknown operator"),
                    HasSubstr("r (com.example.Relu, opset 1): unknown operator")));
}

TEST(OnnxModel, WarnsOfOperatorsOfLaterOperatorSets) {
  const auto model =
      Load(X() + Node("Gelu", "q", {"x"}, {"a"}) + Node("Relu", "r", {"a"}, {"y"}) + Y(), 11);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings(),
              ElementsAre("Gelu exists since operator set 20, but the model imports 11: the "
                          "operator is used as in version 20"));
  EXPECT_TRUE(Bind(*model, {2, 3}).ok());
}

// onnxruntime reads such models, and tools for it write them.
TEST(OnnxModel, TakesMicrosoftsOperatorsWithoutTheirImportWithOneWarning) {
  const std::string microsoft = "domain: 'com.microsoft'";
  const std::string graph = X() + Node("Gelu", "p", {"x"}, {"a"}, microsoft) +
                            Node("QuickGelu", "q", {"a"}, {"b"}, microsoft) +
                            Node("Gelu", "r", {"b"}, {"y"}, microsoft) + Y();
  const auto model = Load(graph);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->warnings(),
              ElementsAre("the model does not import the operator set com.microsoft of Gelu, "
                          "QuickGelu: version 1 is assumed"));
  EXPECT_TRUE(Bind(*model, {2, 3}).ok());
  const auto importing = Load(graph + "} opset_import { domain: 'com.microsoft' version: 1 ");
  ASSERT_TRUE(importing.ok()) << importing.status();
  EXPECT_THAT((*importing)->warnings(), ElementsAre());
}

TEST(OnnxModel, NamesInputsItCannotTake) {
  const auto complex =
      Load(ValueText("input", "x", 14, "2") + Node("Identity", "i", {"x"}, {"y"}) + Y());
  EXPECT_EQ(complex.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(complex.status().message(), AllOf(HasSubstr("'x'"), HasSubstr("complex64")));
  const auto list = Load("input { name: 's' type { sequence_type { } } } " + Y());
  EXPECT_FALSE(list.ok());
}

TEST(OnnxModel, PutsThePathInFrontOfErrors) {
  const auto model = Load(
      X() + Node("Flatten", "flat", {"x"}, {"y"}, "attribute { name: 'axis' type: INT i: 7 }") +
      Y());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Bind(*model, {2, 3}).status().message(),
              HasSubstr("flat (Flatten, opset 13): axis 7"));
}

TEST(OnnxModel, NamesAnAttributeOfTheWrongType) {
  const auto model = Load(
      X() + Node("Flatten", "flat", {"x"}, {"y"}, "attribute { name: 'axis' type: FLOAT f: 1 }") +
      Y());
  EXPECT_THAT(Bind(*model, {2, 3}).status().message(),
              HasSubstr("attribute 'axis': expected int, got float"));
}

TEST(OnnxModel, RefusesAnAttributeThatIsGivenTwice) {
  const std::string axis = "attribute { name: 'axis' type: INT i: 1 }";
  const std::string node = Node("Flatten", "flat", {"x"}, {"y"}, axis + axis);
  EXPECT_THAT(Load(X() + node + Y()).status().message(),
              HasSubstr("flat (Flatten): attribute 'axis' is given twice"));
  const std::string branch = "type: GRAPH g { " + node + Y() + " }";
  EXPECT_THAT(Load(X() + "initializer { name: 'c' data_type: 9 int32_data: 1 } " +
                   Node("If", "if", {"c"}, {"z"},
                        "attribute { name: 'then_branch' " + branch +
                            " } attribute { name: 'else_branch' " + branch + " }") +
                   "output { name: 'z' }")
                  .status()
                  .message(),
              HasSubstr("flat (Flatten): attribute 'axis' is given twice"));
}

TEST(OnnxModel, RefusesNodesWhoseOperatorSetIsNotImported) {
  const std::string graph = X() + Node("Relu", "r", {"x"}, {"y"}) + Y();
  const auto load = [](const std::string& text) {
    ModelProto model;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
    const std::string bytes = model.SerializeAsString();
    return OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m")
        .status();
  };
  EXPECT_THAT(std::string(load("ir_version: 8 graph { " + graph + " }").message()),
              HasSubstr("r (Relu): no operator set of its domain 'ai.onnx' is imported"));
  // IR versions below 3 have no operator set imports.
  EXPECT_TRUE(load("ir_version: 2 graph { " + graph + " }").ok());
  EXPECT_THAT(Load(X() + Node("Scaler", "s", {"x"}, {"y"}, "domain: 'ai.onnx.ml'") + Y())
                  .status()
                  .message(),
              HasSubstr("s (Scaler): no operator set of its domain 'ai.onnx.ml' is imported"));
  EXPECT_TRUE(Load(X() + Node("Gelu", "g", {"x"}, {"y"}, "domain: 'com.microsoft'") + Y()).ok());
  EXPECT_THAT(Load(X() + Node("F", "f", {"x"}, {"y"}, "domain: 'my'") + Y() +
                   "} functions { domain: 'my' name: 'F' input: 'a' output: 'b' " +
                   Node("Neg", "n", {"a"}, {"b"}))
                  .status()
                  .message(),
              HasSubstr("function 'F': n (Neg): no operator set of its domain 'ai.onnx'"));
}

TEST(OnnxModel, SaysHowManyOutputsThereAre) {
  const auto model = Load(X() + Node("Relu", "r", {"x"}, {"y", "z"}) + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Bind(*model, {2, 3}).status().message(),
              HasSubstr("r (Relu): the node has a result 1 ('z'), but only 1 are computed"));
}

TEST(OnnxModel, FoldsArithmeticOfSizes) {
  const std::string minus_one =
      "initializer { name: 'm' data_type: 7 dims: 1 int64_data: -1 } "
      "initializer { name: 'zero' data_type: 7 dims: 1 int64_data: 0 } ";
  const auto model = Load(
      X("N 3 4") + minus_one + Node("Shape", "s", {"x"}, {"dims"}) +
      Node("Gather", "g", {"dims", "zero"}, {"n"}) +
      Node("Concat", "c", {"n", "m"}, {"target"}, "attribute { name: 'axis' type: INT i: 0 }") +
      Node("Reshape", "r", {"x", "target"}, {"y"}) + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = Bind(*model, {5, 3, 4});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->needed_values.empty());
  EXPECT_THAT(bound->outputs.at(0).tensor().dims(), ElementsAre(5, 12));
}

TEST(OnnxModel, AsksForValuesThatDecideShapes) {
  const auto model =
      Load(X() + ValueText("input", "target", 7, "1") + ValueText("input", "starts", 7, "1") +
           ValueText("input", "ends", 7, "1") + Node("Reshape", "r", {"x", "target"}, {"flat"}) +
           Node("Relu", "waits", {"flat"}, {"z"}) +
           Node("Slice", "s", {"x", "starts", "ends"}, {"y"}) + "output { name: 'z' } " + Y());
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<api::InputBinding> bindings(4);
  bindings[0].shape = {DataType::kFloat32, {2, 3}};
  for (int i = 1; i < 4; ++i) bindings[i].shape = {DataType::kInt64, {1}};
  const auto asked = (*model)->Bind(bindings);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_THAT(asked->needed_values, ElementsAre(1, 2, 3));
  const api::HostValue six = HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {6});
  const api::HostValue one = HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {1});
  const api::HostValue two = HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {2});
  bindings[1].value = &six;
  bindings[2].value = &one;
  bindings[3].value = &two;
  const auto bound = (*model)->Bind(bindings);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->needed_values.empty());
  EXPECT_THAT(bound->outputs.at(0).tensor().dims(), ElementsAre(6));
  EXPECT_THAT(bound->outputs.at(1).tensor().dims(), ElementsAre(1, 3));
}

TEST(OnnxModel, ChecksShapesAgainstItsOwn) {
  const auto model = Load(X("N 3") + Node("Relu", "r", {"x"}, {"y"}) + Y());
  EXPECT_TRUE(Bind(*model, {7, 3}).ok());
  EXPECT_THAT(Bind(*model, {7, 4}).status().message(), HasSubstr("input 'x'"));
  EXPECT_FALSE(Bind(*model, {3}).ok());
}

TEST(OnnxModel, CallsFunctionsOfTheModel) {
  const std::string function =
      "} functions { domain: 'my' name: 'Leak' input: 'a' output: 'b' "
      "opset_import { version: 13 } "
      "attribute_proto { name: 'slope' type: FLOAT f: 0.5 } "
      "node { op_type: 'LeakyRelu' input: 'a' output: 'b' attribute { name: 'alpha' "
      "type: FLOAT ref_attr_name: 'slope' } } ";
  const auto model =
      Load("initializer { name: 'x' data_type: 1 dims: 2 float_data: -4 float_data: 4 }" +
           Node("Leak", "default", {"x"}, {"y"}, "domain: 'my'") +
           Node("Leak", "given", {"x"}, {"z"},
                "domain: 'my' attribute { name: 'slope' type: FLOAT f: 0.25 }") +
           Y() + "output { name: 'z' } " + function);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = (*model)->Bind({});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->outputs.at(0).tensor().constant()->ToDoubles(), ElementsAre(-2, 4));
  EXPECT_THAT(bound->outputs.at(1).tensor().constant()->ToDoubles(), ElementsAre(-1, 4));
}

// A function of one input and one output that applies `operators` one after the other.
std::string Function(const std::string& name, const std::vector<std::string>& operators) {
  std::string text =
      absl::StrCat("} functions { domain: 'my' name: '", name, "' input: 't0' output: 't",
                   operators.size(), "' opset_import { version: 13 } ");
  for (size_t i = 0; i < operators.size(); ++i) {
    const std::string domain = operators[i] == "Neg" ? "" : "domain: 'my'";
    text += Node(operators[i], "", {absl::StrCat("t", i)}, {absl::StrCat("t", i + 1)}, domain);
  }
  return text;
}

// Binds x -> F0 -> y with these functions.
absl::Status BindCalls(const std::string& functions) {
  const auto model = Load(X() + Node("F0", "call", {"x"}, {"y"}, "domain: 'my'") + Y() + functions);
  if (!model.ok()) return model.status();
  return Bind(*model, {2, 3}).status();
}

TEST(OnnxModel, RefusesFunctionsThatCallThemselves) {
  const absl::Status status = BindCalls(Function("F0", {"Neg", "F1"}) + Function("F1", {"F0"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the function calls itself"));
}

TEST(OnnxModel, BoundsWhatFunctionsGrowTo) {
  std::string functions = Function("F40", {"Neg"});
  for (int i = 0; i < 40; ++i) {
    const std::string callee = absl::StrCat("F", i + 1);
    functions += Function(absl::StrCat("F", i), {callee, callee});
  }
  const absl::Status status = BindCalls(functions);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

TEST(OnnxModel, SurvivesFunctionsThatCallEachOtherVeryDeep) {
  std::string functions = Function("F50000", {"Neg"});
  for (int i = 0; i < 50000; ++i) {
    functions += Function(absl::StrCat("F", i), {absl::StrCat("F", i + 1)});
  }
  // Succeeds when there is enough memory for the stack.
  EXPECT_THAT(BindCalls(functions).code(),
              AnyOf(absl::StatusCode::kOk, absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace tartan::onnx::onnx_model_test
