// SPDX-License-Identifier: Apache-2.0
// Tests of computed indices that are out of range. The device checks them, also in branches and
// loops.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"
#include "tests/frontend/onnx/run_text_model.h"

namespace tartan::onnx::computed_indices_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ComputedIndices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  }

  // The message of the error. When the model requests no values, the naive evaluator must give the
  // same error.
  std::string Error(const std::string& graph, const InputValues& inputs, bool asks = false) {
    const auto model = LoadModel("graph { " + graph + " }", 16);
    if (model == nullptr) return "";
    const absl::Status status = RunOnDevice(model, inputs).status();
    if (!asks) {
      EXPECT_EQ(RunByDefinition(*model, inputs).status(), status);
    }
    EXPECT_TRUE(RunOnDevice(model, inputs, /*unchecked=*/true).ok());
    return std::string(status.message());
  }
};

TEST_F(ComputedIndices, AreCheckedOnTheDevice) {
  const std::string graph = FloatInput("x", "10") + FloatInput("f", "3") + CastToInts("f", "i") +
                            Node("take", "Gather", {"x", "i"}, {"y"}) + Output("y");
  const HostTensor x = Counting({10});
  const std::string place = "take (Gather, opset 16): index ";
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3}, {9, -10, 0})}}), "");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3}, {1, 10, 2})}}),
            place + "10 is out of range [-10, 9] of axis 0");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3}, {1, -11, 2})}}),
            place + "-11 is out of range [-10, 9] of axis 0");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3}, {1, 0x1p62, 2})}}),
            place + "4611686018427387904 is out of range [-10, 9] of axis 0");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3}, {-0x1p62, 0, 2})}}),
            place + "-4611686018427387904 is out of range [-10, 9] of axis 0");
}

TEST_F(ComputedIndices, AreCheckedByColumnOnTheDevice) {
  const std::string graph = ValueText("input", "x", kFloat, "2 5") +
                            ValueText("input", "f", kFloat, "3 2") + CastToInts("f", "i") +
                            Node("take", "GatherND", {"x", "i"}, {"y"}) + Output("y");
  const HostTensor x = Counting({2, 5});
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3, 2}, {1, 4, -2, -5, 0, 0})}}), "");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3, 2}, {1, 4, -2, -5, 0, 7})}}),
            "take (GatherND, opset 16): index 7 is out of range [-5, 4] of axis 1");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({3, 2}, {1, 4, 3, -5, 0, 0})}}),
            "take (GatherND, opset 16): index 3 is out of range [-2, 1] of axis 0");
}

TEST_F(ComputedIndices, OfSeveralNodesTellTheFirst) {
  // The host checks the indices of the input, the device checks the computed ones.
  for (const bool host_first : {true, false}) {
    const std::string first = host_first ? "i" : "j";
    const std::string second = host_first ? "j" : "i";
    const std::string graph = FloatInput("x", "10") + ValueText("input", "i", kInt64, "2") +
                              FloatInput("f", "2") + CastToInts("f", "j") +
                              Node("first", "Gather", {"x", first}, {"a"}) +
                              Node("second", "Gather", {"x", second}, {"b"}) +
                              Node("sum", "Add", {"a", "b"}, {"y"}) + Output("y");
    const HostTensor x = Counting({10});
    EXPECT_THAT(Error(graph, {{"x", x}, {"i", Ints({2}, {0, 77})}, {"f", Values({2}, {0, 88})}}),
                StartsWith(absl::StrCat("first (Gather, opset 16): index ", host_first ? 77 : 88)));
    EXPECT_THAT(Error(graph, {{"x", x}, {"i", Ints({2}, {0, 77})}, {"f", Values({2}, {0, 8})}}),
                HasSubstr("index 77"));
    EXPECT_THAT(Error(graph, {{"x", x}, {"i", Ints({2}, {0, 7})}, {"f", Values({2}, {0, 88})}}),
                HasSubstr("index 88"));
  }
}

TEST_F(ComputedIndices, ThatNoResultNeedsAreNotChecked) {
  const std::string graph = FloatInput("x", "10") + ValueText("input", "i", kInt64, "2") +
                            Node("unused", "Gather", {"x", "i"}, {"a"}) +
                            Node("negative", "Neg", {"x"}, {"y"}) + Output("y");
  EXPECT_EQ(Error(graph, {{"x", Counting({10})}, {"i", Ints({2}, {0, 77})}}), "");
}

TEST_F(ComputedIndices, OfRegionsAreChecked) {
  const std::string graph = ValueText("input", "x", kFloat, "2 1 4 4") +
                            ValueText("input", "r", kFloat, "2 5") +
                            Node("pool", "MaxRoiPool", {"x", "r"}, {"y"},
                                 Attribute("pooled_shape", std::vector<int64_t>{2, 2})) +
                            Output("y");
  const auto error = [&](double image) {
    return Error(
        graph,
        {{"x", Counting({2, 1, 4, 4})}, {"r", Values({2, 5}, {0, 0, 0, 2, 2, image, 1, 1, 3, 3})}},
        true);
  };
  EXPECT_EQ(error(1), "");
  EXPECT_EQ(error(2), "pool (MaxRoiPool, opset 16): image 2 is out of range [0, 1] of axis 0");
  EXPECT_EQ(error(-1), "pool (MaxRoiPool, opset 16): image -1 is out of range [0, 1] of axis 0");
}

// Too many indices to read back with the results, so a kernel checks them.
TEST_F(ComputedIndices, ThatAreManyAreChecked) {
  const std::string graph = FloatInput("x", "10") + FloatInput("f", "20000") +
                            CastToInts("f", "i") + Node("take", "Gather", {"x", "i"}, {"y"}) +
                            Output("y");
  std::vector<double> all(20000, 9);
  const auto error = [&] {
    return Error(graph, {{"x", Counting({10})}, {"f", Values({20000}, all)}});
  };
  EXPECT_EQ(error(), "");
  all[12345] = -11;
  EXPECT_EQ(error(), "take (Gather, opset 16): index -11 is out of range [-10, 9] of axis 0");
}

TEST_F(ComputedIndices, BeforeAQuestionAreChecked) {
  const std::string graph = FloatInput("x", "4") + FloatInput("f", "4") + CastToInts("f", "i") +
                            Node("take", "Gather", {"x", "i"}, {"a"}) +
                            Node("where", "NonZero", {"a"}, {"w"}) + Output("w");
  const HostTensor x = Counting({4});
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({4}, {3, -4, 0, 0})}}, true), "");
  EXPECT_EQ(Error(graph, {{"x", x}, {"f", Values({4}, {0, 0, 4, 0})}}, true),
            "take (Gather, opset 16): index 4 is out of range [-4, 3] of axis 0");
}

TEST_F(ComputedIndices, InABranchTellTheNodesAroundIt) {
  const std::string branch = Node("take", "Gather", {"x", "i"}, {"t"}) + Output("t");
  const std::string other = Node("same", "Identity", {"x"}, {"e"}) + Output("e");
  const std::string graph =
      FloatInput("x", "3") + ValueText("input", "i", kInt64, "3") +
      " initializer { name: 'yes' data_type: 9 int32_data: 1 } " +
      Node("choose", "If", {"yes"}, {"y"},
           GraphAttribute("then_branch", branch) + GraphAttribute("else_branch", other)) +
      Output("y");
  EXPECT_EQ(Error(graph, {{"x", Counting({3})}, {"i", Ints({3}, {0, 1, 3})}}),
            "choose (If, opset 16): take (Gather, opset 16): index 3 is out of range [-3, 2] of "
            "axis 0");
}

// A loop of `iterations` that reads x[index]. The nodes `make_index` compute `index` from the
// iteration `t`, the state `s` and outer values.
std::string LoopGraph(int64_t iterations, const std::string& make_index,
                      const std::string& condition) {
  const std::string body = " input { name: 't' } input { name: 'c' } input { name: 's' } " +
                           make_index + Node("take", "Gather", {"x", "index"}, {"row"}) +
                           Node("next", "Add", {"s", "row"}, {"n"}) + condition + Output("go") +
                           Output("n") + Output("row");
  return FloatInput("x", "6") + FloatInput("start", "") + ValueText("input", "k", kInt64, "") +
         IntConstant("iterations", iterations) +
         Node("loop", "Loop", {"iterations", "", "start"}, {"y", "rows"},
              GraphAttribute("body", body)) +
         Output("y") + Output("rows");
}

constexpr char kGoOn[] = " node { name: 'same' op_type: 'Identity' input: 'c' output: 'go' } ";

TEST_F(ComputedIndices, InABodyThatStaysOnTheDeviceAreChecked) {
  const auto run = [&](int64_t iterations, const std::string& index, int64_t k) {
    return Error(LoopGraph(iterations, index, kGoOn),
                 {{"x", Counting({6})}, {"start", Values({}, {0})}, {"k", Ints({}, {k})}}, true);
  };
  const std::string place = "loop (Loop, opset 16): take (Gather, opset 16): index ";
  const std::string bounds = " is out of range [-6, 5] of axis 0";
  // The index is the iteration number.
  const std::string iteration = Node("same_iteration", "Identity", {"t"}, {"index"});
  EXPECT_EQ(run(6, iteration, 0), "");
  EXPECT_EQ(run(8, iteration, 0), place + "7" + bounds);
  // The index is an outer value, the same in all iterations.
  const std::string outer = Node("same_k", "Identity", {"k"}, {"index"});
  EXPECT_EQ(run(7, outer, -6), "");
  EXPECT_EQ(run(7, outer, 6), place + "6" + bounds);
  EXPECT_EQ(run(0, outer, 6), "");
  // The index is computed from both.
  const std::string sum = Node("sum", "Add", {"t", "k"}, {"index"});
  EXPECT_EQ(run(7, sum, -6), "");
  EXPECT_EQ(run(7, sum, -8), place + "-8" + bounds);
  // The index is computed from the state: 0, 1, 3, 8, then out of range.
  const std::string state = CastToInts("s", "index");
  EXPECT_EQ(run(3, state, 0), "");
  EXPECT_THAT(run(7, state, 0), StartsWith(place));
}

TEST_F(ComputedIndices, EndALoopWhoseConditionTheyWouldHaveMet) {
  // The loop continues while the row is positive, and the last row always is.
  const std::string condition =
      " node { name: 'positive' op_type: 'Greater' input: 'row' input: 'zero' output: 'go' } ";
  const std::string zero = " initializer { name: 'zero' data_type: 1 float_data: 0 } ";
  const std::string graph =
      zero + LoopGraph(5'000'000, Node("same_iteration", "Identity", {"t"}, {"index"}), condition);
  const auto model = LoadModel("graph { " + graph + " }", 16);
  ASSERT_NE(model, nullptr);
  const InputValues inputs = {
      {"x", Counting({6})}, {"start", Values({}, {0})}, {"k", Ints({}, {0})}};
  EXPECT_EQ(RunOnDevice(model, inputs).status().message(),
            "loop (Loop, opset 16): take (Gather, opset 16): index 6 is out of range [-6, 5] of "
            "axis 0");
}

TEST_F(ComputedIndices, OfAScanAreCheckedBeforeItsFirstIteration) {
  const std::string body = " input { name: 's' } input { name: 'i' } " +
                           Node("take", "Gather", {"x", "i"}, {"row"}) +
                           Node("next", "Add", {"s", "row"}, {"n"}) + Output("n");
  const std::string graph =
      FloatInput("x", "6") + FloatInput("start", "") + ValueText("input", "all", kInt64, "7") +
      Node("scan", "Scan", {"start", "all"}, {"y"},
           GraphAttribute("body", body) + Attribute("num_scan_inputs", int64_t{1})) +
      Output("y");
  const auto run = [&](const std::vector<int64_t>& all) {
    return Error(graph, {{"x", Counting({6})}, {"start", Values({}, {0})}, {"all", Ints({7}, all)}},
                 true);
  };
  EXPECT_EQ(run({0, 1, 2, 3, 4, 5, -6}), "");
  EXPECT_EQ(run({0, 1, 2, 3, 4, 5, 6}),
            "scan (Scan, opset 16): take (Gather, opset 16): index 6 is out of range [-6, 5] of "
            "axis 0");
}

}  // namespace
}  // namespace tartan::onnx::computed_indices_test
