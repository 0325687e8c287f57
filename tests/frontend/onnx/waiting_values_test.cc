// SPDX-License-Identifier: Apache-2.0
// Tests that a value that depends on an input's value stays deferred across the borders of nested
// graphs.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/naive_resolver.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::waiting_values_test {
namespace {

using ::testing::ElementsAre;

constexpr int kFloat = 1;
constexpr int kInt64 = 7;
constexpr int kBool = 9;

api::HostValue Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)}, values);
}

api::HostValue Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)}, values);
}

std::string Output(const std::string& name) {
  return absl::StrCat(" output { name: '", name, "' } ");
}

std::string IntTensor(const std::string& name, int64_t value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}

std::string BoolTensor(const std::string& name, bool value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 9 int32_data: ", value, " } ");
}

absl::StatusOr<std::vector<api::HostValue>> RunText(const std::string& model_text,
                                                    const std::vector<api::HostValue>& inputs) {
  const std::string bytes = ModelBytes(model_text, 18);
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  return RunUnknown(*model, inputs);
}

// Inputs x, float32 with open sizes, and a shape. `w` is x reshaped, which is deferred until the
// shape's value is known.
std::string Waiting(const std::string& rank = "2") {
  return ValueText("input", "x", kFloat, "N") + ValueText("input", "shape", kInt64, rank) +
         NodeText("Reshape", {"x", "shape"}, {"w"});
}

// Runs Waiting(), `graph` and an output y, on x = [1, 2, 3, 4, 5, 6] in the shape [2, 3].
std::vector<double> Result(const std::string& graph, const std::string& beside = "") {
  const auto outputs =
      RunText(absl::StrCat("graph { ", Waiting(), graph, Output("y"), " } ", beside),
              {Floats({6}, {1, 2, 3, 4, 5, 6}), Ints({2}, {2, 3})});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->at(0).tensor().ToDoubles() : std::vector<double>();
}

std::string If(const std::string& condition, const std::string& graph, const std::string& output) {
  return NodeText("If", {condition}, {output},
                  GraphAttribute("then_branch", graph) + GraphAttribute("else_branch", graph));
}

std::string Zero() {
  return " initializer { name: 'zero' data_type: 1 dims: 2 dims: 3 float_data: [0,0,0,0,0,0] } ";
}

std::string LoopInputs() {
  return ValueText("input", "iteration", kInt64, "") + ValueText("input", "on", kBool, "");
}

std::string Still() { return NodeText("Identity", {"on"}, {"still"}) + Output("still"); }

TEST(WaitingValues, CrossTheBorderOfABranchThatHandsThemOn) {
  EXPECT_THAT(
      Result(BoolTensor("yes", true) + If("yes", Output("w"), "t") + NodeText("Neg", {"t"}, {"y"})),
      ElementsAre(-1, -2, -3, -4, -5, -6));
}

TEST(WaitingValues, CrossTheBorderOfABranchThatComputesWithThem) {
  const std::string branch = NodeText("Add", {"w", "w"}, {"a"}) + Output("a");
  EXPECT_THAT(
      Result(BoolTensor("yes", true) + If("yes", branch, "t") + NodeText("Neg", {"t"}, {"y"})),
      ElementsAre(-2, -4, -6, -8, -10, -12));
}

TEST(WaitingValues, CrossTheBordersOfBranchesInBranches) {
  std::string graph = NodeText("Add", {"w", "w"}, {"a"}) + Output("a");
  for (int i = 0; i < 4; ++i) {
    const std::string made = absl::StrCat("t", i);
    graph = If("yes", graph, made) + Output(made);
  }
  EXPECT_THAT(
      Result(BoolTensor("yes", true) + If("yes", graph, "t") + NodeText("Neg", {"t"}, {"y"})),
      ElementsAre(-2, -4, -6, -8, -10, -12));
}

class WaitingInLoop : public ::testing::TestWithParam<int64_t> {};

TEST_P(WaitingInLoop, CrossesTheBorderOfTheBody) {
  const std::string body = LoopInputs() + ValueText("input", "s", kFloat, "A B") +
                           NodeText("Add", {"s", "w"}, {"next"}) + Still() + Output("next") +
                           NodeText("Identity", {"w"}, {"row"}) + Output("row");
  const std::vector<double> y = Result(
      IntTensor("iterations", GetParam()) + Zero() +
      NodeText("Loop", {"iterations", "", "zero"}, {"last", "rows"}, GraphAttribute("body", body)) +
      NodeText("ReduceSum", {"rows"}, {"sum"}, " attribute { name: 'keepdims' type: INT i: 0 } ") +
      NodeText("Add", {"last", "sum"}, {"y"}));
  const double iterations = static_cast<double>(GetParam());
  EXPECT_THAT(y, ElementsAre(22 * iterations, 23 * iterations, 24 * iterations, 25 * iterations,
                             26 * iterations, 27 * iterations));
}

TEST_P(WaitingInLoop, CrossesTheBorderOfABodyThatHandsItOnInABranch) {
  const std::string branch = NodeText("Neg", {"w"}, {"n"}) + Output("n");
  const std::string body = LoopInputs() + ValueText("input", "s", kFloat, "A B") +
                           If("on", branch, "next") + Still() + Output("next");
  EXPECT_THAT(
      Result(Zero() + IntTensor("iterations", GetParam()) +
             NodeText("Loop", {"iterations", "", "zero"}, {"last"}, GraphAttribute("body", body)) +
             NodeText("Neg", {"last"}, {"y"})),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

// A loop of few iterations is unrolled, a longer one keeps its body.
INSTANTIATE_TEST_SUITE_P(Iterations, WaitingInLoop, ::testing::Values(1, 3, 9));

TEST(WaitingValues, CrossTheBorderOfAScansBody) {
  // Six rows are too many for unrolling.
  const std::string body =
      ValueText("input", "s", kFloat, "A B") + ValueText("input", "row", kFloat, "") +
      NodeText("Add", {"s", "w"}, {"next"}) + NodeText("Mul", {"row", "w"}, {"seen"}) +
      Output("next") + Output("seen");
  EXPECT_THAT(Result(Zero() +
                     NodeText("Scan", {"zero", "x"}, {"last", "rows"},
                              "attribute { name: 'num_scan_inputs' type: INT i: 1 }" +
                                  GraphAttribute("body", body)) +
                     NodeText("ReduceSum", {"rows", "first"}, {"sum"},
                              " attribute { name: 'keepdims' type: INT i: 0 } ") +
                     " initializer { name: 'first' data_type: 7 dims: 1 int64_data: 0 } " +
                     NodeText("Add", {"last", "sum"}, {"y"})),
              ElementsAre(27, 54, 81, 108, 135, 162));
}

TEST(WaitingValues, CrossTheBorderOfABodyMappedOverASequence) {
  const std::string body = ValueText("input", "e", kFloat, "N") +
                           NodeText("ReduceMin", {"e"}, {"r"}) +
                           NodeText("Add", {"r", "w"}, {"made"}) + Output("made");
  EXPECT_THAT(Result(NodeText("SequenceConstruct", {"x", "x"}, {"s"}) +
                     NodeText("SequenceMap", {"s"}, {"t"}, GraphAttribute("body", body)) +
                     IntTensor("one", 1) + NodeText("SequenceAt", {"t", "one"}, {"e"}) +
                     NodeText("Neg", {"e"}, {"y"})),
              ElementsAre(-2, -3, -4, -5, -6, -7));
}

// The function f(a, b) = (Reshape(a, b), a + a).
constexpr char kFunction[] =
    " functions { domain: 'my' name: 'f' input: 'a' input: 'b' output: 'r' output: 't' "
    "opset_import { version: 18 } node { op_type: 'Reshape' input: 'a' input: 'b' output: 'r' } "
    "node { op_type: 'Add' input: 'a' input: 'a' output: 't' } } "
    "opset_import { domain: 'my' version: 1 } ";

TEST(WaitingValues, CrossTheBorderOfAFunctionInBothDirections) {
  const std::string call = "domain: 'my'";
  EXPECT_THAT(Result(NodeText("f", {"w", "flat"}, {"r", "t"}, call) +
                         " initializer { name: 'flat' data_type: 7 dims: 1 int64_data: -1 } " +
                         NodeText("f", {"r", "shape"}, {"p", "q"}, call) +
                         NodeText("Add", {"p", "t"}, {"y"}),
                     kFunction),
              ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST(WaitingValues, OfAFunctionLeaveItsOtherOutputsKnown) {
  // The sum is available while the reshaped tensor is deferred; both shapes are requested together.
  const std::string bytes = ModelBytes(
      absl::StrCat("graph { ", Waiting(), ValueText("input", "more", kInt64, "1"),
                   NodeText("f", {"x", "shape"}, {"r", "t"}, "domain: 'my'"),
                   NodeText("Reshape", {"t", "more"}, {"y"}), Output("y"), " } ", kFunction),
      18);
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<api::InputBinding> bindings(3);
  bindings[0].shape = {DataType::kFloat32, {6}};
  bindings[1].shape = {DataType::kInt64, {2}};
  bindings[2].shape = {DataType::kInt64, {1}};
  const auto bound = (*model)->Bind(bindings);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->needed_values, ElementsAre(1, 2));
}

// Nodes that make a tensor w from x, and an operand k of unknown value.
struct Maker {
  std::string name;
  std::string nodes;
  api::HostValue operand;
  size_t elements;
};

void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }

class WaitingFor : public ::testing::TestWithParam<Maker> {};

// A branch and a loop body capture w, and the graph reads their results.
TEST_P(WaitingFor, CrossesEveryBorder) {
  const Maker& maker = GetParam();
  const std::string rank = absl::StrJoin(maker.operand.tensor().shape().dims, " ");
  const std::string graph =
      ValueText("input", "x", kFloat, "2 3") + ValueText("input", "k", kInt64, rank) + maker.nodes;
  const std::string branch = NodeText("Add", {"w", "w"}, {"a"}) + Output("a");
  const std::string body = LoopInputs() + Still() + NodeText("Neg", {"w"}, {"row"}) + Output("row");
  const auto outputs = RunText(
      absl::StrCat("graph { ", graph, BoolTensor("yes", true), If("yes", branch, "b"),
                   IntTensor("iterations", 2),
                   NodeText("Loop", {"iterations", ""}, {"rows"}, GraphAttribute("body", body)),
                   NodeText("Add", {"b", "rows"}, {"y"}), Output("y"), " }"),
      {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), maker.operand});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at(0).tensor().ToDoubles().size(), 2 * maker.elements);
}

std::string OffAndOn() {
  return " initializer { name: 'v' data_type: 1 dims: 2 float_data: [0, 1] } ";
}

INSTANTIATE_TEST_SUITE_P(
    Operators, WaitingFor,
    ::testing::Values(
        Maker{"Reshape", NodeText("Reshape", {"x", "k"}, {"w"}), Ints({2}, {3, -1}), 6},
        Maker{"Expand", NodeText("Expand", {"x", "k"}, {"w"}), Ints({3}, {2, 1, 1}), 12},
        Maker{"Tile", NodeText("Tile", {"x", "k"}, {"w"}), Ints({2}, {2, 1}), 12},
        Maker{"Pad", NodeText("Pad", {"x", "k"}, {"w"}), Ints({4}, {0, 1, 0, 1}), 10},
        Maker{"Resize", NodeText("Resize", {"x", "", "", "k"}, {"w"}), Ints({2}, {4, 6}), 24},
        Maker{"Slice",
              NodeText("Slice", {"x", "zero", "k"}, {"w"}) +
                  " initializer { name: 'zero' data_type: 7 dims: 1 int64_data: 0 } ",
              Ints({1}, {1}), 3},
        Maker{"TopK", NodeText("TopK", {"x", "k"}, {"w", "at"}), Ints({1}, {2}), 4},
        Maker{"OneHot",
              NodeText("Cast", {"x"}, {"i"}, "attribute { name: 'to' type: INT i: 7 }") +
                  NodeText("OneHot", {"i", "k", "v"}, {"w"}) + OffAndOn(),
              Ints({}, {5}), 30},
        Maker{"Range",
              NodeText("Range", {"zero", "k", "one"}, {"w"}) + IntTensor("zero", 0) +
                  IntTensor("one", 1),
              Ints({}, {4}), 4},
        Maker{"ConstantOfShape", NodeText("ConstantOfShape", {"k"}, {"w"}), Ints({2}, {2, 2}), 4},
        Maker{
            "Split",
            NodeText("Split", {"x", "k"}, {"u", "w"}, "attribute { name: 'axis' type: INT i: 1 }"),
            Ints({2}, {1, 2}), 4}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::onnx::waiting_values_test
