// SPDX-License-Identifier: Apache-2.0
// Tests of ai.onnx.preview.training beyond the official cases.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/node_case.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::training_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kDomain[] = "ai.onnx.preview.training";

HostTensor Scalar(double value, DataType type = DataType::kFloat32) {
  return Values({}, {value}, type);
}
HostTensor Count(int64_t value) { return Scalar(static_cast<double>(value), DataType::kInt64); }

OperatorCall Call(const std::string& op, std::vector<api::HostValue> inputs,
                  const std::string& fields, int outputs) {
  return {op, 13, std::move(inputs), fields, outputs, kDomain};
}

TEST(Adam, CorrectsItsAveragesFromTheFirstUpdateOn) {
  // The first update from zero averages is the rate times the sign of the gradient.
  const auto y = RunOperator(Call("Adam",
                                  {Scalar(0.5), Count(1), Values({2}, {1, 1}), Values({2}, {4, -9}),
                                   Values({2}, {0, 0}), Values({2}, {0, 0})},
                                  "", 3));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_NEAR((*y)[0].GetDouble(0), 0.5, 1e-4);
  EXPECT_NEAR((*y)[0].GetDouble(1), 1.5, 1e-4);
  EXPECT_NEAR((*y)[1].GetDouble(1), -0.9, 1e-6);
  EXPECT_NEAR((*y)[2].GetDouble(0), 0.016, 1e-6);
}

TEST(Adam, ComputesInDoublesWhereTheTensorIsOne) {
  const auto vector = [](double v) { return Values({1}, {v}, DataType::kFloat64); };
  const auto y = RunOperator(Call(
      "Adam", {Scalar(0.5), Count(0), vector(1), vector(1e-9), vector(1), vector(1)},
      Attribute("alpha", 0.5f) + Attribute("beta", 0.5f) + Attribute("norm_coefficient_post", 0.5f),
      3));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[1].ToDoubles(), ElementsAre(DoubleEq(0.5 + 0.5e-9)));
  const double epsilon = 1e-6f;
  EXPECT_NEAR((*y)[0].GetDouble(0),
              0.5 * (1 - 0.5 * (0.5 + 0.5e-9) / (std::sqrt(0.5 + 0.5e-18) + epsilon)), 1e-14);
}

TEST(Adagrad, SlowsDownWithTheCountOfUpdates) {
  const auto y = RunOperator(
      Call("Adagrad",
           {Scalar(1), Count(4), Values({1, 1}, {10}), Values({1, 1}, {3}), Values({1, 1}, {16})},
           Attribute("decay_factor", 0.25f) + Attribute("epsilon", 1.0f), 2));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(9.75));  // rate 1/2, 3 / (5 + 1)
  EXPECT_THAT((*y)[1].ToDoubles(), ElementsAre(25));
}

std::string MomentumFields(const std::string& mode) {
  return Attribute("mode", mode) + Attribute("alpha", 0.5f) + Attribute("beta", 0.25f) +
         Attribute("norm_coefficient", 0.0f);
}

TEST(Momentum, TakesTheFirstGradientWhole) {
  const std::vector<api::HostValue> tensors = {Values({1}, {1}), Values({1}, {4}),
                                               Values({1}, {2})};
  for (const auto& [count, expected] : {std::pair(0, 5.0), std::pair(1, 2.0)}) {
    std::vector<api::HostValue> inputs = {Scalar(0.5), Count(count)};
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    const auto standard = RunOperator(Call("Momentum", inputs, MomentumFields("standard"), 2));
    ASSERT_TRUE(standard.ok()) << standard.status();
    EXPECT_THAT((*standard)[1].ToDoubles(), ElementsAre(expected));
    EXPECT_THAT((*standard)[0].ToDoubles(), ElementsAre(1 - 0.5 * expected));
    const auto nesterov = RunOperator(Call("Momentum", inputs, MomentumFields("nesterov"), 2));
    ASSERT_TRUE(nesterov.ok()) << nesterov.status();
    EXPECT_THAT((*nesterov)[0].ToDoubles(), ElementsAre(1 - 0.5 * (4 + 0.5 * expected)));
  }
}

TEST(Momentum, SaysWhatDoesNotFit) {
  const HostTensor one = Values({1}, {1});
  EXPECT_THAT(
      RunOperator(Call("Momentum", {Scalar(1), Count(0), one, one, one}, MomentumFields("slow"), 2))
          .status()
          .ToString(),
      HasSubstr("expected standard or nesterov, got slow"));
  EXPECT_THAT(RunOperator(Call("Momentum", {Scalar(1), Count(0), one, one, one, one},
                               MomentumFields("standard"), 2))
                  .status()
                  .ToString(),
              HasSubstr("4 tensors, but expected 3 per optimised tensor"));
  EXPECT_THAT(RunOperator(Call("Momentum", {Scalar(1), Count(0), one, Values({2}, {1, 1}), one},
                               MomentumFields("standard"), 2))
                  .status()
                  .ToString(),
              HasSubstr("operand 3 is float32[2], but the optimised tensor is float32[1]"));
}

std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& rest = "") {
  std::string text = absl::StrCat(" node { op_type: '", op, "' ", rest);
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  for (const std::string& output : outputs) absl::StrAppend(&text, " output: '", output, "'");
  return text + " } ";
}

std::string Names(const std::string& name, const std::vector<std::string>& values) {
  std::string text = absl::StrCat(" attribute { name: '", name, "' type: STRINGS ");
  for (const std::string& value : values) absl::StrAppend(&text, " strings: '", value, "'");
  return text + " } ";
}

std::string GradientNode(const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs,
                         const std::vector<std::string>& xs, const std::vector<std::string>& zs,
                         const std::string& y) {
  return Node("Gradient", inputs, outputs,
              absl::StrCat("domain: '", kDomain, "' ", Names("xs", xs),
                           zs.empty() ? "" : Names("zs", zs), Attribute("y", y)));
}

// The values of the graph's outputs for these values of its inputs a and b, of two elements each.
absl::StatusOr<std::vector<std::vector<double>>> RunGraph(const std::string& nodes,
                                                          const std::vector<std::string>& outputs,
                                                          const std::vector<double>& a,
                                                          const std::vector<double>& b) {
  std::string graph = nodes + ValueText("input", "a", 1, "2") + ValueText("input", "b", 1, "2");
  for (const std::string& output : outputs)
    absl::StrAppend(&graph, " output { name: '", output, "' }");
  const std::string bytes = ModelBytes(
      absl::StrCat("opset_import { domain: '", kDomain, "' version: 1 } graph { ", graph, " }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  if (!model.ok()) return model.status();
  const std::vector<api::HostValue> values = {Values({2}, a), Values({2}, b)};
  std::vector<api::InputBinding> bindings(2);
  for (size_t i = 0; i < 2; ++i) {
    bindings[i].shape = values[i].tensor().shape();
    bindings[i].value = &values[i];
  }
  const auto bound = (*model)->Bind(bindings);
  if (!bound.ok()) return bound.status();
  const auto results = EvaluateValues(bound->outputs);
  if (!results.ok()) return results.status();
  std::vector<std::vector<double>> numbers;
  for (const api::HostValue& result : *results) numbers.push_back(result.tensor().ToDoubles());
  return numbers;
}

// The graph y = a * a * b.
std::string Cube() { return Node("Mul", {"a", "a"}, {"s"}) + Node("Mul", {"s", "b"}, {"y"}); }

TEST(Gradient, DerivesBySomeAndHoldsTheOthers) {
  const auto y = RunGraph(Cube() + GradientNode({"a", "b"}, {"da"}, {"a"}, {"b"}, "y"), {"da"},
                          {3, 4}, {5, -1});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0], ElementsAre(30, -8));
}

TEST(Gradient, IsTakenWhereItsOperandsAre) {
  // Differentiates by the intermediate tensor s, whose given value differs from the graph's.
  const auto y = RunGraph(Cube() + GradientNode({"b", "a"}, {"ds", "db"}, {"s", "b"}, {}, "y"),
                          {"ds", "db"}, {3, 4}, {5, -1});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0], ElementsAre(3, 4));   // for b, with the value of a
  EXPECT_THAT((*y)[1], ElementsAre(5, -1));  // for s, with the value of b
}

TEST(Gradient, IsDerivedAgain) {
  const auto y = RunGraph(Cube() + GradientNode({"a", "b"}, {"da"}, {"a"}, {"b"}, "y") +
                              GradientNode({"a", "b"}, {"daa", "dab"}, {"a", "b"}, {}, "da"),
                          {"daa", "dab"}, {3, 4}, {5, -1});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0], ElementsAre(10, -2));  // 2 b
  EXPECT_THAT((*y)[1], ElementsAre(6, 8));    // 2 a
}

TEST(Gradient, IsZeroByWhatDoesNotMatter) {
  const auto y = RunGraph(
      Node("Exp", {"b"}, {"e"}) + GradientNode({"a", "b"}, {"da", "db"}, {"a", "b"}, {}, "e"),
      {"da", "db"}, {3, 4}, {0, 0});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0], ElementsAre(0, 0));
  EXPECT_THAT((*y)[1], ElementsAre(1, 1));
}

TEST(Gradient, SaysWhatItDoesNotFind) {
  EXPECT_THAT(
      RunGraph(Cube() + GradientNode({"a"}, {"da"}, {"a"}, {}, "nowhere"), {"da"}, {1, 1}, {1, 1})
          .status()
          .ToString(),
      HasSubstr("there is no tensor 'nowhere' before this node"));
  EXPECT_THAT(
      RunGraph(Cube() + GradientNode({"a"}, {"da"}, {"a"}, {"b"}, "y"), {"da"}, {1, 1}, {1, 1})
          .status()
          .ToString(),
      HasSubstr("1 operands for 2 names in xs and zs"));
}

}  // namespace
}  // namespace tartan::onnx::training_test
