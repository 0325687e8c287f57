// SPDX-License-Identifier: Apache-2.0
// Tests on a device of models whose graph depends on computed values.
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::dynamic_model_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int kFloat = 1;
constexpr int kInt64 = 7;
constexpr int kBool = 9;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)}, values);
}

HostTensor Vector(const std::vector<float>& values) {
  return Floats({static_cast<int64_t>(values.size())}, values);
}

std::string IntTensor(const std::string& name, int64_t value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}

std::string FloatTensor(const std::string& name, float value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 1 float_data: ", value, " } ");
}

std::string Input(const std::string& name, int type = kFloat, const std::string& dims = "-1") {
  return ValueText("input", name, type, dims);
}

std::string Output(const std::string& name) {
  return absl::StrCat(" output { name: '", name, "' } ");
}

class DynamicModel : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = api::Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  void Load(const std::string& graph, api::SessionOptions options = {}) {
    const std::string bytes = ModelBytes(absl::StrCat("graph { ", graph, " }"), 16);
    auto model =
        OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
    ASSERT_TRUE(model.ok()) << model.status();
    options.tier = api::Tier::kExact;
    auto session = api::Session::Create(*model, device_, options);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  std::vector<HostTensor> Run(const std::map<std::string, HostTensor>& inputs) {
    const auto outputs = session_->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *outputs : std::vector<HostTensor>();
  }

  std::shared_ptr<api::Device> device_;
  std::unique_ptr<api::Session> session_;
};

// Doubles the elements of x + 1 that are not 0.
std::string NonZeroGraph() {
  return Input("x") + FloatTensor("one", 1) + FloatTensor("two", 2) +
         " initializer { name: 'flat' data_type: 7 dims: 1 int64_data: -1 } " +
         NodeText("Add", {"x", "one"}, {"shifted"}) + NodeText("NonZero", {"shifted"}, {"where"}) +
         NodeText("Reshape", {"where", "flat"}, {"positions"}) +
         NodeText("Gather", {"shifted", "positions"}, {"taken"}) +
         NodeText("Mul", {"taken", "two"}, {"y"}) + Output("y");
}

TEST_F(DynamicModel, HasResultsWhoseSizesDependOnValues) {
  Load(NonZeroGraph());
  EXPECT_THAT(Run({{"x", Vector({0, -1, 2, -1, 4})}}).at(0).ToDoubles(), ElementsAre(2, 6, 10));
  EXPECT_THAT(Run({{"x", Vector({-1, -1, -1, 5, -1})}}).at(0).ToDoubles(), ElementsAre(12));
  EXPECT_THAT(Run({{"x", Vector({-1, -1})}}).at(0).ToDoubles(), ElementsAre());
  EXPECT_THAT(Run({{"x", Vector({7, -1, 0, 1, -1})}}).at(0).ToDoubles(), ElementsAre(16, 2, 4));
}

TEST_F(DynamicModel, AnswersManyThreadsWithFewWaysKept) {
  api::SessionOptions options;
  options.max_signatures = 2;
  Load(NonZeroGraph(), options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 12; ++i) {
        std::vector<float> x(6, -1);
        std::vector<double> expected;
        for (int k = 0; k < (i + t) % 5; ++k) {
          x[static_cast<size_t>(k)] = static_cast<float>(k);
          expected.push_back(2.0 * k + 2);
        }
        EXPECT_THAT(Run({{"x", Vector(x)}}).at(0).ToDoubles(), ElementsAreArray(expected));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DynamicModel, TakesTheBranchThatAComputedConditionSelects) {
  const std::string then_graph = NodeText("Add", {"sum", "x"}, {"t"}) + Output("t");
  const std::string else_graph = NodeText("Neg", {"x"}, {"e"}) + Output("e");
  Load(Input("x") + FloatTensor("zero", 0) +
       NodeText("ReduceSum", {"x"}, {"sum"}, "attribute { name: 'keepdims' type: INT i: 0 }") +
       NodeText("Greater", {"sum", "zero"}, {"positive"}) +
       NodeText(
           "If", {"positive"}, {"y"},
           GraphAttribute("then_branch", then_graph) + GraphAttribute("else_branch", else_graph)) +
       Output("y"));
  EXPECT_THAT(Run({{"x", Vector({1, 2})}}).at(0).ToDoubles(), ElementsAre(4, 5));
  EXPECT_THAT(Run({{"x", Vector({1, -2})}}).at(0).ToDoubles(), ElementsAre(-1, 2));
  EXPECT_THAT(Run({{"x", Vector({5, 5})}}).at(0).ToDoubles(), ElementsAre(15, 15));
}

// A loop body with the inputs iteration, condition and s, and the outputs condition, s * 2 and s.
std::string DoublingBody(const std::string& condition) {
  return ValueText("input", "iteration", kInt64, "") + ValueText("input", "condition", kBool, "") +
         Input("s") + NodeText("Mul", {"s", "factor"}, {"next"}) + condition +
         NodeText("Identity", {"s"}, {"row"}) + Output("still") + Output("next") + Output("row");
}

TEST_F(DynamicModel, RunsAThousandIterationsAsOneBody) {
  const std::string body = DoublingBody(NodeText("Identity", {"condition"}, {"still"}));
  Load(Input("x") + FloatTensor("factor", 1.001f) + IntTensor("iterations", 1000) +
       NodeText("Loop", {"iterations", "", "x"}, {"last", "rows"}, GraphAttribute("body", body)) +
       Output("last") + Output("rows"));
  const auto outputs = Run({{"x", Vector({1, -2})}});
  ASSERT_EQ(outputs.size(), 2u);
  float expected = 1;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FLOAT_EQ(static_cast<float>(outputs[1].GetDouble(2 * i)), expected) << i;
    expected *= 1.001f;
  }
  EXPECT_FLOAT_EQ(static_cast<float>(outputs[0].GetDouble(0)), expected);
  api::RunStatistics statistics;
  ASSERT_TRUE(session_->Run({{"x", Vector({3, 4})}}, &statistics).ok());
  EXPECT_EQ(statistics.cache_misses, 0);
}

TEST_F(DynamicModel, LeavesALoopWhenAComputedConditionEndsIt) {
  const std::string body = DoublingBody(
      NodeText("ReduceMax", {"next"}, {"most"}, "attribute { name: 'keepdims' type: INT i: 0 }") +
      NodeText("Less", {"most", "limit"}, {"still"}));
  Load(Input("x") + FloatTensor("factor", 2) + FloatTensor("limit", 100) +
       NodeText("Loop", {"", "", "x"}, {"last", "rows"}, GraphAttribute("body", body)) +
       Output("last") + Output("rows"));
  const auto seven = Run({{"x", Vector({1, 0})}});
  EXPECT_THAT(seven.at(0).ToDoubles(), ElementsAre(128, 0));
  EXPECT_EQ(seven.at(1).shape().dims, (std::vector<int64_t>{7, 2}));
  const auto two = Run({{"x", Vector({30, 1})}});
  EXPECT_THAT(two.at(0).ToDoubles(), ElementsAre(120, 4));
  EXPECT_THAT(two.at(1).ToDoubles(), ElementsAre(30, 1, 60, 2));
}

TEST_F(DynamicModel, RunsIterationsWhoseStatesGrow) {
  const std::string body =
      ValueText("input", "iteration", kInt64, "") + ValueText("input", "condition", kBool, "") +
      Input("s") +
      NodeText("Concat", {"s", "x"}, {"next"}, "attribute { name: 'axis' type: INT i: 0 }") +
      NodeText("Identity", {"condition"}, {"still"}) + Output("still") + Output("next");
  Load(Input("x") + IntTensor("iterations", 6) +
       NodeText("Loop", {"iterations", "", "x"}, {"y"}, GraphAttribute("body", body)) +
       Output("y"));
  EXPECT_EQ(Run({{"x", Vector({1, 2})}}).at(0).element_count(), 14);
  EXPECT_THAT(Run({{"x", Vector({5})}}).at(0).ToDoubles(), ElementsAre(5, 5, 5, 5, 5, 5, 5));
}

TEST_F(DynamicModel, DrawsRandomNumbersAnewInEachIteration) {
  const std::string body =
      ValueText("input", "iteration", kInt64, "") + ValueText("input", "condition", kBool, "") +
      NodeText("RandomUniformLike", {"x"}, {"drawn"}) +
      NodeText("Identity", {"condition"}, {"still"}) + Output("still") + Output("drawn");
  Load(Input("x") + IntTensor("iterations", 3) +
       NodeText("Loop", {"iterations", ""}, {"y"}, GraphAttribute("body", body)) + Output("y"));
  const std::vector<double> drawn = Run({{"x", Vector({0, 0})}}).at(0).ToDoubles();
  ASSERT_EQ(drawn.size(), 6);
  EXPECT_EQ(std::set<double>(drawn.begin(), drawn.end()).size(), 6);
}

TEST_F(DynamicModel, RefusesASequenceAsACondition) {
  Load(Input("x") + NodeText("SequenceConstruct", {"x"}, {"s"}) +
       NodeText("If", {"s"}, {"y"},
                GraphAttribute("then_branch", Output("x")) +
                    GraphAttribute("else_branch", Output("x"))) +
       Output("y"));
  EXPECT_THAT(session_->Run({{"x", Vector({1})}}).status().message(),
              HasSubstr("operand 0 is not a tensor of bool"));
}

TEST_F(DynamicModel, RefusesSequencesInSequences) {
  Load(Input("x") + NodeText("SequenceConstruct", {"x"}, {"s"}) +
       NodeText("SequenceConstruct", {"s", "s"}, {"t"}) + Output("t"));
  EXPECT_THAT(session_->Run({{"x", Vector({1})}}).status().message(), HasSubstr("not a tensor"));
}

// All operands are constants, yet the loop is too long for the host.
TEST_F(DynamicModel, LeavesLongLoopsOverConstantsToTheDevice) {
  const std::string body = DoublingBody(NodeText("Identity", {"condition"}, {"still"}));
  Load(Input("x") + FloatTensor("factor", 1) + FloatTensor("start", 3) +
       IntTensor("iterations", 40000) +
       NodeText("Loop", {"iterations", "", "start"}, {"last", "rows"},
                GraphAttribute("body", body)) +
       NodeText("Add", {"last", "x"}, {"y"}) + Output("y"));
  EXPECT_THAT(Run({{"x", Vector({1, 2})}}).at(0).ToDoubles(), ElementsAre(4, 5));
}

TEST_F(DynamicModel, RefusesLoopsInLoopsThatNobodyWaitsFor) {
  // The importer unrolls these iterations, because the state grows.
  const auto body = [](const std::string& inner) {
    return ValueText("input", "iteration", kInt64, "") +
           ValueText("input", "condition", kBool, "") + Input("s") + inner +
           NodeText("Concat", {"s", "t"}, {"next"}, "attribute { name: 'axis' type: INT i: 0 }") +
           NodeText("Identity", {"condition"}, {"still"}) + Output("still") + Output("next");
  };
  const std::string inside = body(NodeText("Identity", {"one"}, {"t"}));
  const std::string outside =
      body(NodeText("Loop", {"iterations", "", "x"}, {"t"}, GraphAttribute("body", inside)));
  Load(Input("x") + IntTensor("iterations", 20000) +
       " initializer { name: 'one' data_type: 1 dims: 1 float_data: 1 } " +
       NodeText("Loop", {"iterations", "", "x"}, {"y"}, GraphAttribute("body", outside)) +
       Output("y"));
  EXPECT_EQ(session_->Run({{"x", Vector({1})}}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(DynamicModel, RefusesALoopWithoutAnEnd) {
  const std::string body = DoublingBody(NodeText("Identity", {"condition"}, {"still"}));
  Load(Input("x") + FloatTensor("factor", 2) +
       NodeText("Loop", {"", "", "x"}, {"last", "rows"}, GraphAttribute("body", body)) +
       Output("last") + Output("rows"));
  EXPECT_THAT(session_->Run({{"x", Vector({1})}}).status().message(),
              HasSubstr("the loop never ends"));
}

}  // namespace
}  // namespace tartan::onnx::dynamic_model_test
