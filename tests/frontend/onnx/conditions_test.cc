// SPDX-License-Identifier: Apache-2.0
// Tests of the conditions of branches and loops.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/naive_resolver.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::conditions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFloat = 1;
constexpr int kInt64 = 7;
constexpr int kBool = 9;

std::string Output(const std::string& name) {
  return absl::StrCat(" output { name: '", name, "' } ");
}

// The output y of a graph for these inputs.
absl::StatusOr<std::vector<double>> Result(const std::string& graph,
                                           const std::vector<api::HostValue>& inputs) {
  const std::string bytes = ModelBytes(absl::StrCat("graph { ", graph, Output("y"), " }"), 16);
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> outputs, RunUnknown(*model, inputs));
  return outputs.at(0).tensor().ToDoubles();
}

std::string MessageOf(const absl::StatusOr<std::vector<double>>& result) {
  return std::string(result.status().message());
}

api::HostValue One(DataType type, std::vector<int64_t> dims) {
  const TensorShape shape{type, std::move(dims)};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  StoreElement(type, int64_t{1}, 0, bytes.data());
  return HostTensor(shape, bytes);
}

std::string Branch() {
  const std::string graph = NodeText("Neg", {"x"}, {"n"}) + Output("n");
  return NodeText("If", {"c"}, {"y"},
                  GraphAttribute("then_branch", graph) + GraphAttribute("else_branch", graph));
}

// A loop of `iterations` whose rows `row` computes from the condition.
std::string Loop(int iterations, const std::string& row, const std::string& still) {
  const std::string body = ValueText("input", "iteration", kInt64, "") +
                           ValueText("input", "on", kBool, "") + row + still + Output("still") +
                           Output("row");
  return absl::StrCat(" initializer { name: 'iterations' data_type: 7 int64_data: ", iterations,
                      " } ",
                      NodeText("Loop", {"iterations", "c"}, {"y"}, GraphAttribute("body", body)));
}

TEST(Conditions, OfBranchesAreASingleBool) {
  const std::string x = ValueText("input", "x", kFloat, "");
  const api::HostValue one = One(DataType::kFloat32, {});
  const auto right =
      Result(x + ValueText("input", "c", kBool, "1") + Branch(), {one, One(DataType::kBool, {1})});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_THAT(*right, ElementsAre(-1));
  EXPECT_THAT(MessageOf(Result(x + ValueText("input", "c", kFloat, "") + Branch(), {one, one})),
              HasSubstr("operand 0 is float32[], not a single bool"));
  EXPECT_THAT(
      Result(x + ValueText("input", "c", kBool, "2") + Branch(), {one, One(DataType::kBool, {2})})
          .status()
          .message(),
      HasSubstr("operand 0 is bool[2], not a single bool"));
}

TEST(Conditions, OfLoopsAreASingleBool) {
  const std::string row = NodeText("Identity", {"iteration"}, {"row"});
  const std::string still = NodeText("Identity", {"on"}, {"still"});
  EXPECT_THAT(
      Result(ValueText("input", "c", kInt64, "") + Loop(3, row, still), {One(DataType::kInt64, {})})
          .status()
          .message(),
      HasSubstr("operand 1 is int64[], not a single bool"));
  for (int iterations : {3, 9}) {
    EXPECT_THAT(
        MessageOf(Result(ValueText("input", "c", kBool, "") +
                             Loop(iterations, row, NodeText("Identity", {"iteration"}, {"still"})),
                         {One(DataType::kBool, {})})),
        HasSubstr("the body's condition is int64[], not a single bool"));
  }
}

TEST(Conditions, KeepTheirShapeInTheBody) {
  const std::string row = NodeText("Shape", {"on"}, {"row"});
  const std::string still = NodeText("Identity", {"on"}, {"still"});
  for (int iterations : {2, 9}) {
    const auto rows = Result(ValueText("input", "c", kBool, "1") + Loop(iterations, row, still),
                             {One(DataType::kBool, {1})});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(*rows, std::vector<double>(static_cast<size_t>(iterations), 1));
    const auto none = Result(ValueText("input", "c", kBool, "") + Loop(iterations, row, still),
                             {One(DataType::kBool, {})});
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_TRUE(none->empty());
  }
}

// The iteration number decides the size of a row.
TEST(NoIteration, GivesRowsTheirDeclaredShapeWhereNothingElseTellsIt) {
  const auto loop = [](const std::string& row_type) {
    const std::string body =
        ValueText("input", "iteration", kInt64, "") + ValueText("input", "on", kBool, "") +
        NodeText("Identity", {"on"}, {"still"}) +
        NodeText("Range", {"zero", "iteration", "one"}, {"row"}) + Output("still") + row_type;
    return " initializer { name: 'none' data_type: 7 int64_data: 0 }"
           " initializer { name: 'zero' data_type: 7 int64_data: 0 }"
           " initializer { name: 'one' data_type: 7 int64_data: 1 } " +
           NodeText("Loop", {"none", "c"}, {"rows"}, GraphAttribute("body", body)) +
           NodeText("Shape", {"rows"}, {"y"});
  };
  const std::string condition = ValueText("input", "c", kBool, "");
  const auto declared = Result(condition + loop(ValueText("output", "row", kInt64, "3 n")),
                               {One(DataType::kBool, {})});
  ASSERT_TRUE(declared.ok()) << declared.status();
  EXPECT_THAT(*declared, ElementsAre(0, 3, 0));
  EXPECT_THAT(MessageOf(Result(condition + loop(Output("row")), {One(DataType::kBool, {})})),
              HasSubstr("a loop without iterations whose row 'row' has no known shape"));
}

// The standard requires new names in nested graphs; engines differ in the value they use otherwise.
TEST(NestedGraphs, GiveNoNameOfTheGraphsAroundThemToAnotherValue) {
  const std::string given = ValueText("input", "x", kFloat, "") +
                            ValueText("input", "c", kBool, "") + NodeText("Add", {"x", "x"}, {"k"});
  const auto result = [&](const std::string& then_branch) {
    const std::string other = NodeText("Mul", {"x", "k"}, {"m"}) + Output("m");
    const std::string node =
        NodeText("If", {"c"}, {"y"},
                 GraphAttribute("then_branch", then_branch) + GraphAttribute("else_branch", other));
    return Result(given + node, {One(DataType::kFloat32, {}), One(DataType::kBool, {})});
  };
  const std::string sum = NodeText("Add", {"x", "k"}, {"m"}) + Output("m");
  const auto right = result(sum);
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_THAT(*right, ElementsAre(3));
  const std::string constant = " initializer { name: 'k' data_type: 1 float_data: 7 } ";
  EXPECT_THAT(MessageOf(result(constant + sum)),
              HasSubstr("defines 'k' by an initialiser or a constant, but an enclosing graph has a "
                        "value of that name"));
  EXPECT_THAT(MessageOf(result(NodeText("Mul", {"x", "x"}, {"k"}) + sum)),
              HasSubstr("defines 'k' by -> k (Mul), but an enclosing graph"));
  // Two equal values may share a name.
  const std::string three = " initializer { name: 'three' data_type: 1 float_data: 3 } ";
  const auto same = Result(
      given + three +
          NodeText("If", {"c"}, {"y"},
                   GraphAttribute("then_branch",
                                  three + NodeText("Mul", {"k", "three"}, {"m"}) + Output("m")) +
                       GraphAttribute("else_branch", sum)),
      {One(DataType::kFloat32, {}), One(DataType::kBool, {})});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(*same, ElementsAre(6));
  const std::string inner =
      NodeText(
          "If", {"c"}, {"m"},
          GraphAttribute("then_branch", constant + NodeText("Neg", {"k"}, {"i"}) + Output("i")) +
              GraphAttribute("else_branch", NodeText("Neg", {"x"}, {"j"}) + Output("j"))) +
      Output("m");
  EXPECT_THAT(MessageOf(result(inner)), HasSubstr("defines 'k'"));
}

}  // namespace
}  // namespace tartan::onnx::conditions_test
