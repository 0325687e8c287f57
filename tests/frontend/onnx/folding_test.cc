// SPDX-License-Identifier: Apache-2.0
// Tests that constants folded by the importer equal the results of a run.
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/node_case.h"

namespace tartan::onnx::folding_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// The outputs of a graph without inputs.
absl::StatusOr<std::vector<api::Value>> Import(const std::string& graph) {
  const std::string bytes = ModelBytes(absl::StrCat("graph { ", graph, " }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  if (!model.ok()) return model.status();
  auto bound = (*model)->Bind({});
  if (!bound.ok()) return bound.status();
  return std::move(bound->outputs);
}

std::vector<double> Evaluate(const std::string& graph, size_t output = 0) {
  const auto outputs = Import(graph);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return {};
  }
  const auto values = EvaluateValues(*outputs);
  if (!values.ok()) {
    ADD_FAILURE() << values.status();
    return {};
  }
  return values->at(output).tensor().ToDoubles();
}

// A float16 tensor of 300s.
std::string UnpackNibbles(const std::string& dims) {
  return absl::StrCat("initializer { name: 'x' data_type: 10 ", dims, "int32_data: 23728 ",
                      dims.empty() ? "" : "int32_data: 23728 ", "} ");
}

std::string Output(const std::string& name) {
  return absl::StrCat("output { name: '", name, "' } ");
}

// Twice 300: the intermediate x * x overflows float16 but is not an output.
TEST(Folding, KeepsFloat16InFloat32BetweenNodesAsARunDoes) {
  for (const std::string dims : {"", "dims: 2 "}) {
    SCOPED_TRACE(dims);
    const std::string graph = UnpackNibbles(dims) + NodeText("Mul", {"x", "x"}, {"square"}) +
                              NodeText("Div", {"square", "x"}, {"y"}) + Output("y") +
                              Output("square");
    EXPECT_THAT(Evaluate(graph), Each(300));
    EXPECT_THAT(Evaluate(graph, 1), Each(std::numeric_limits<double>::infinity()));
  }
}

TEST(Folding, GivesValuesThatAreAskedForUnroundedToo) {
  // ConstantOfShape needs the value of its operand: 300 * 300 / 30000.
  const std::string graph =
      UnpackNibbles("") + "initializer { name: 'k' data_type: 7 dims: 1 int64_data: 30000 } " +
      NodeText("Mul", {"x", "x"}, {"square"}) +
      NodeText("Cast", {"square"}, {"number"}, "attribute { name: 'to' type: INT i: 7 }") +
      NodeText("Div", {"number", "k"}, {"size"}) +
      NodeText("ConstantOfShape", {"size"}, {"zeros"}) +
      NodeText("Sub", {"square", "x"}, {"less"}) + NodeText("Div", {"less", "x"}, {"y"}) +
      Output("zeros") + Output("y");
  EXPECT_THAT(Evaluate(graph), ElementsAre(0, 0, 0));
  EXPECT_THAT(Evaluate(graph, 1), ElementsAre(299));
}

TEST(Folding, TakesWhatFloat16HoldsForAConstant) {
  const auto outputs =
      Import(UnpackNibbles("dims: 2 ") + NodeText("Add", {"x", "x"}, {"y"}) + Output("y"));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_NE(outputs->at(0).tensor().constant(), nullptr);
}

}  // namespace
}  // namespace tartan::onnx::folding_test
