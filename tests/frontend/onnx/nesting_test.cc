// SPDX-License-Identifier: Apache-2.0
// Tests of deeply nested graphs and of deep calls of functions.
#include "frontend/onnx/model/nesting.h"

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/naive_resolver.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::nesting_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

NodeProto* AddNode(GraphProto* graph, const std::string& op, const std::vector<std::string>& inputs,
                   const std::string& output) {
  NodeProto* node = graph->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  graph->add_output()->set_name(output);
  return node;
}

GraphProto* AddGraph(NodeProto* node, const std::string& name) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::GRAPH);
  return attribute->mutable_g();
}

// Applies `op` to x in the innermost of `depth` nested graphs.
std::string NestedModel(int depth, const std::string& op, bool in_loops = false) {
  const std::shared_ptr<ModelProto> model = NewModelProto();
  model->ParseFromString(ModelBytes(absl::StrCat(
      "graph { ", ValueText("input", "x", 1, "2"),
      "initializer { name: 'c' data_type: 9 int32_data: 1 }",
      "initializer { name: 'one' data_type: 7 int64_data: 1 } output { name: 'y' } }")));
  GraphProto* graph = model->mutable_graph();
  for (int i = 0; i < depth; ++i) {
    const std::string output = i == 0 ? "y" : absl::StrCat("y", i);
    graph->clear_output();
    if (in_loops && i > 0) graph->add_output()->set_name("c");
    NodeProto* node = AddNode(graph, in_loops ? "Loop" : "If", {in_loops ? "one" : "c"}, output);
    graph = AddGraph(node, in_loops ? "body" : "then_branch");
    if (!in_loops) AddNode(AddGraph(node, "else_branch"), "Neg", {"x"}, "z");
    if (in_loops) {
      graph->add_input()->set_name(absl::StrCat("iteration", i));
      graph->add_input()->set_name(absl::StrCat("on", i));
    }
  }
  if (in_loops) graph->add_output()->set_name("c");
  AddNode(graph, op, {"x"}, "inner");
  std::string bytes;
  EXPECT_TRUE(WithDeepStack(depth, [&] { bytes = model->SerializeAsString(); }).ok());
  return bytes;
}

absl::StatusOr<api::HostValue> ChunkBytes(const std::string& bytes) {
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  const api::HostValue x = HostTensor::FromVector<float>({DataType::kFloat32, {2}}, {1, -2});
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> outputs, RunUnknown(*model, {x}));
  return outputs.at(0);
}

class BranchesInBranches : public ::testing::TestWithParam<int> {};

TEST_P(BranchesInBranches, AreTaken) {
  const auto y = ChunkBytes(NestedModel(GetParam(), "Abs"));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().ToDoubles(), ElementsAre(1, 2));
}

INSTANTIATE_TEST_SUITE_P(Depths, BranchesInBranches, ::testing::Values(1, 40, 1000, 3000));

TEST(Nesting, RunsLoopsInLoops) {
  const auto y = ChunkBytes(NestedModel(300, "Neg", true));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().ToDoubles(), ElementsAre(-1, 2));
  EXPECT_EQ(y->tensor().shape().rank(), 301);
}

TEST(Nesting, NamesTheOutermostAndTheInnermostOfManyPlaces) {
  const absl::Status status = ChunkBytes(NestedModel(1000, "NoSuchOperator")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_LT(status.message().size(), 4000u);
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("y (If, opset 13): y1 (If, opset 13): "), HasSubstr(" ... "),
                    EndsWith("inner (NoSuchOperator, opset 13): unknown operator")));
}

TEST(Nesting, RefusesWhatIsTooDeepForTheReader) {
  EXPECT_THAT(
      std::string(ChunkBytes(NestedModel(kMaxNestedGraphs + 100, "Abs")).status().message()),
      HasSubstr("more than 10000 levels deep"));
}

TEST(Nesting, CallsFunctionsThatCallEachOtherDeeply) {
  constexpr int kDepth = 5000;
  std::string text = absl::StrCat(
      "graph { ", ValueText("input", "x", 1, "2"), NodeText("F0", {"x"}, {"y"}, "domain: 'my'"),
      "output { name: 'y' } } ", "opset_import { domain: 'my' version: 1 } ");
  for (int i = 0; i < kDepth; ++i) {
    const bool is_last = i + 1 == kDepth;
    absl::StrAppend(&text, " functions { domain: 'my' name: 'F", i, "' input: 'a' output: 'b'",
                    " opset_import { version: 13 } opset_import { domain: 'my' version: 1 } ",
                    NodeText(is_last ? "Neg" : absl::StrCat("F", i + 1), {"a"}, {"b"},
                             is_last ? "" : "domain: 'my'"),
                    "} ");
  }
  const auto y = ChunkBytes(ModelBytes(text));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->tensor().ToDoubles(), ElementsAre(-1, 2));
}

// Each tensor is nearly twice as large as the previous one.
TEST(Growth, IsNotFollowedFarWhileImporting) {
  std::string text =
      "graph { initializer { name: 'x0' data_type: 9 dims: 4 int32_data: [1, 1, 1, 1] }";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, NodeText("NonZero", {absl::StrCat("x", i)}, {absl::StrCat("x", i + 1)}));
  }
  const std::string bytes = ModelBytes(absl::StrCat(text, " output { name: 'x40' } }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = (*model)->Bind({});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kResourceExhausted) << bound.status();
  EXPECT_THAT(std::string(bound.status().message()), HasSubstr("NonZero"));
}

TEST(Nesting, GivesAnErrorWhereThereIsNoMemoryForTheStack) {
  bool called = false;
  const absl::Status status = WithDeepStack(int64_t{1} << 40, [&] { called = true; });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(called);
}

TEST(Nesting, HandsExceptionsOn) {
  EXPECT_THROW(WithDeepStack(1000, [] { throw std::bad_alloc(); }).IgnoreError(), std::bad_alloc);
}

}  // namespace
}  // namespace tartan::onnx::nesting_test
