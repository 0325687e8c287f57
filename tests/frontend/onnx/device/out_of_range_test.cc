// SPDX-License-Identifier: Apache-2.0
// Tests of indices, lengths and labels that are out of range at run time. Each operator runs on the
// naive evaluator and on a device, with and without checks.
#include <cstdint>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/checked_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"
#include "tests/frontend/onnx/run_text_model.h"

namespace tartan::onnx::out_of_range_test {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kFar = int64_t{1} << 62;

// An operator with a bounded operand, and values of that operand out of range.
struct Case {
  OperatorCall call;  // with all operands in range
  size_t operand = 1;
  struct Bad {
    HostTensor value;
    std::string message;  // message after the name of the node
  };
  std::vector<Bad> bad;
};

std::vector<Case> Cases() {
  const HostTensor x = Counting({2, 5});
  const auto row = [](int64_t index) { return Ints({2}, {0, index}); };
  const auto rows = [](int64_t index) { return Ints({1, 2}, {0, index}); };
  const std::string axis1 = Attribute("axis", int64_t{1});
  const std::string of1 = " is out of range [-5, 4] of axis 1";
  const std::string far = absl::StrCat(kFar);
  std::vector<Case> cases;
  cases.push_back(
      {{"Gather", 13, {x, row(4)}, axis1},
       1,
       {{row(5), "index 5" + of1},
        {row(-6), "index -6" + of1},
        {row(kFar), "index " + far + of1},
        {row(-kFar), "index -" + far + of1},
        {row(std::numeric_limits<int64_t>::min()), "index -9223372036854775808" + of1},
        {row(std::numeric_limits<int64_t>::max()), "index 9223372036854775807" + of1}}});
  cases.push_back({{"Gather", 13, {x, Ints32({2}, {-5, 4})}, axis1},
                   1,
                   {{Ints32({2}, {0, 99}), "index 99" + of1}}});
  cases.push_back({{"GatherElements", 13, {x, rows(-5)}, axis1},
                   1,
                   {{rows(99), "index 99" + of1}, {rows(kFar), "index " + far + of1}}});
  cases.push_back(
      {{"GatherND", 13, {x, Ints({1, 2}, {-2, 4})}},
       1,
       {{rows(5), "index 5" + of1},
        {Ints({1, 2}, {2, 0}), "index 2 is out of range [-2, 1] of axis 0"},
        {Ints({1, 2}, {-kFar, 0}), "index -" + far + " is out of range [-2, 1] of axis 0"}}});
  cases.push_back(
      {{"GatherND", 13, {x, Ints({2, 1}, {4, -5})}, Attribute("batch_dims", int64_t{1})},
       1,
       {{Ints({2, 1}, {0, 5}), "index 5" + of1}}});
  for (const char* reduction : {"none", "add", "mul", "min", "max"}) {
    const std::string mode = Attribute("reduction", std::string(reduction));
    cases.push_back({{"ScatterElements", 18, {x, rows(4), Counting({1, 2})}, axis1 + mode},
                     1,
                     {{rows(5), "index 5" + of1}, {rows(kFar), "index " + far + of1}}});
    cases.push_back(
        {{"ScatterND", 18, {x, Ints({2, 2}, {0, 0, 1, 4}), Counting({2})}, mode},
         1,
         {{Ints({2, 2}, {0, 0, 1, 5}), "index 5" + of1},
          {Ints({2, 2}, {0, 0, kFar, 1}), "index " + far + " is out of range [-2, 1] of axis 0"}}});
  }
  cases.push_back({{"MaxUnpool",
                    11,
                    {Counting({1, 1, 2, 2}), Ints({1, 1, 2, 2}, {0, 3, 8, 15})},
                    Attribute("kernel_shape", std::vector<int64_t>{2, 2}) +
                        Attribute("strides", std::vector<int64_t>{2, 2})},
                   1,
                   {{Ints({1, 1, 2, 2}, {0, 3, 8, 16}),
                     "index 16 is out of range [0, 15] of the result [1, 1, 4, 4]"},
                    {Ints({1, 1, 2, 2}, {0, -1, 8, 15}),
                     "index -1 is out of range [0, 15] of the result [1, 1, 4, 4]"},
                    {Ints({1, 1, 2, 2}, {0, kFar, 8, 15}),
                     "index " + far + " is out of range [0, 15] of the result [1, 1, 4, 4]"}}});
  for (const char* loss : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    cases.push_back({{loss, 13, {x, Ints({2}, {0, 4})}},
                     1,
                     {{Ints({2}, {0, 99}), "class 99 is out of range [0, 4] of axis 1"},
                      {Ints({2}, {-1, 0}), "class -1 is out of range [0, 4] of axis 1"}}});
    cases.push_back(
        {{loss, 13, {x, Ints({2}, {-1, 4})}, Attribute("ignore_index", int64_t{-1})},
         1,
         {{Ints({2}, {-1, 5}), "class 5 is out of range [0, 4] of axis 1 and is not -1"}}});
  }
  cases.push_back(
      {{"RoiAlign",
        16,
        {Counting({2, 1, 4, 4}), Values({2, 4}, {0, 0, 2, 2, 1, 1, 3, 3}), Ints({2}, {0, 1})},
        Attribute("sampling_ratio", int64_t{2})},
       2,
       {{Ints({2}, {0, 2}), "image 2 is out of range [0, 1] of axis 0"},
        {Ints({2}, {kFar, 0}), "image " + far + " is out of range [0, 1] of axis 0"}}});
  cases.push_back({{"ReverseSequence", 10, {Counting({3, 2}), Ints({2}, {0, 3})}},
                   1,
                   {{Ints({2}, {1, 4}), "sequence length 4 is out of range [0, 3] of axis 0"},
                    {Ints({2}, {-1, 3}), "sequence length -1 is out of range [0, 3] of axis 0"}}});
  for (const auto& [op, gates] :
       std::map<std::string, int64_t>{{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    cases.push_back(
        {{op,
          14,
          {Counting({3, 2, 1}), Counting({1, 2 * gates, 1}), Counting({1, 2 * gates, 2}),
           HostTensor(), Ints32({2}, {0, 3})},
          Attribute("hidden_size", int64_t{2})},
         4,
         {{Ints32({2}, {1, 4}), "sequence length 4 is out of range [0, 3] of axis 0"},
          {Ints32({2}, {-1, 3}), "sequence length -1 is out of range [0, 3] of axis 0"}}});
  }
  cases.push_back(
      {{"TensorScatter", 24, {Counting({2, 4, 1}), Counting({2, 2, 1}), Ints({2}, {0, 2})}},
       2,
       {{Ints({2}, {0, 3}), "index 3 is out of range [0, 2] of axis 1"},
        {Ints({2}, {-1, 0}), "index -1 is out of range [0, 2] of axis 1"}}});
  cases.push_back({{"RotaryEmbedding",
                    23,
                    {Counting({1, 1, 2, 4}), Counting({3, 2}), Counting({3, 2}), rows(2)}},
                   3,
                   {{rows(3), "index 3 is out of range [0, 2] of axis 0"}}});
  const HostTensor one_byte = Values({1}, {1}, DataType::kInt8);
  cases.push_back(
      {{"DynamicQuantizeLSTM",
        13,
        {Counting({3, 2, 1}), Values({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, DataType::kInt8),
         Values({1, 2, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}, DataType::kInt8),
         HostTensor(), Ints32({2}, {0, 3}), HostTensor(), HostTensor(), HostTensor(),
         Values({1}, {0.25}), one_byte, Values({1}, {0.5}), one_byte},
        Attribute("hidden_size", int64_t{2}),
        1,
        "com.microsoft"},
       4,
       {{Ints32({2}, {1, 4}), "sequence length 4 is out of range [0, 3] of axis 0"},
        {Ints32({2}, {-1, 3}), "sequence length -1 is out of range [0, 3] of axis 0"}}});
  // Each sample appends two positions to its past, which has room for four.
  cases.push_back(
      {{"GroupQueryAttention",
        13,
        {Counting({2, 2, 2}), Counting({2, 2, 2}), Counting({2, 2, 2}), Counting({2, 1, 4, 2}),
         Counting({2, 1, 4, 2}), Ints32({2}, {1, 3}), Ints32({}, {3})},
        Attribute("num_heads", int64_t{1}) + Attribute("kv_num_heads", int64_t{1}),
        1,
        "com.microsoft"},
       5,
       {{Ints32({2}, {1, 4}), "length minus one 4 is out of range [0, 3] of the keys"},
        {Ints32({2}, {0, 3}), "first position -1 is out of range [0, 2] of the keys"}}});
  cases.push_back({{"ArrayFeatureExtractor", 13, {x, row(4)}, "", 1, "ai.onnx.ml"},
                   1,
                   {{row(5), "index 5" + of1}}});
  return cases;
}

// A model of the operator as the node 'n', with one input per operand.
std::shared_ptr<const OnnxModel> ModelOf(const OperatorCall& call, InputValues* inputs) {
  std::string node = absl::StrCat("node { name: 'n' op_type: '", call.op, "' domain: '",
                                  call.domain, "' ", call.fields, " output: 'y'");
  std::string graph;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const HostTensor& value = call.inputs[i].tensor();
    if (value.type() == DataType::kInvalid) {
      node += " input: ''";
      continue;
    }
    const std::string name = absl::StrCat("x", i);
    (*inputs)[name] = value;
    absl::StrAppend(&node, " input: '", name, "'");
    const int type = IsFloat(value.type())              ? kFloat
                     : value.type() == DataType::kInt64 ? kInt64
                     : value.type() == DataType::kInt8  ? kInt8
                                                        : kInt32;
    graph += ValueText("input", name, type, absl::StrJoin(value.shape().dims, " "));
  }
  const std::string opset = call.domain.empty()
                                ? ""
                                : absl::StrCat("opset_import { domain: '", call.domain,
                                               "' version: ", call.domain_opset, " } ");
  return LoadModel(absl::StrCat(opset, "graph { ", node, " } ", graph, Output("y"), " }"),
                   call.opset);
}

std::string PlaceOf(const OperatorCall& call) {
  const std::string domain = call.domain.empty() ? "" : call.domain + ".";
  const int opset = call.domain.empty() ? call.opset : call.domain_opset;
  return absl::StrCat("n (", domain, call.op, ", opset ", opset, "): ");
}

TEST(OutOfRange, IsToldByNodeNumberAndBoundByDefinition) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(PlaceOf(test.call));
    InputValues inputs;
    const auto model = ModelOf(test.call, &inputs);
    ASSERT_NE(model, nullptr);
    const Results fine = RunByDefinition(*model, inputs);
    EXPECT_TRUE(fine.ok()) << fine.status();
    for (const Case::Bad& bad : test.bad) {
      inputs[absl::StrCat("x", test.operand)] = bad.value;
      const absl::Status status = RunByDefinition(*model, inputs).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
      EXPECT_EQ(status.message(), PlaceOf(test.call) + bad.message);
    }
  }
}

TEST(OutOfRange, IsToldByNodeNumberAndBoundOnADevice) {
  if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  for (const Case& test : Cases()) {
    SCOPED_TRACE(PlaceOf(test.call));
    InputValues inputs;
    const auto model = ModelOf(test.call, &inputs);
    ASSERT_NE(model, nullptr);
    const Results fine = RunOnDevice(model, inputs);
    EXPECT_TRUE(fine.ok()) << fine.status();
    for (const Case::Bad& bad : test.bad) {
      inputs[absl::StrCat("x", test.operand)] = bad.value;
      const absl::Status status = RunOnDevice(model, inputs).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
      EXPECT_EQ(status.message(), PlaceOf(test.call) + bad.message);
      const Results unchecked = RunOnDevice(model, inputs, /*unchecked=*/true);
      EXPECT_TRUE(unchecked.ok()) << unchecked.status();
    }
  }
}

TEST(OutOfRange, IsToldOfConstantsWhenTheModelIsBound) {
  for (const Case& test : Cases()) {
    for (const Case::Bad& bad : test.bad) {
      OperatorCall call = test.call;
      call.inputs[test.operand] = bad.value;
      const absl::Status status = RunOperatorValues(call).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_EQ(status.message(), PlaceOf(test.call) + bad.message);
    }
  }
}

// --- Sizes, which are checked before the run.

TEST(SizesOutOfRange, OfAReflectionAreRefused) {
  const std::string reflect = Attribute("mode", std::string("reflect"));
  const auto error = [&](std::vector<int64_t> dims, std::vector<int64_t> pads) {
    const OperatorCall call = {"Pad", 18, {Counting(std::move(dims)), Ints({2}, pads)}, reflect};
    return std::string(RunOperator(call).status().message());
  };
  const std::string place = "n (Pad, opset 18): mode 'reflect' adds ";
  EXPECT_EQ(error({3}, {2, 2}), "");
  EXPECT_EQ(error({3}, {3, 0}),
            place + "3 to axis 0, which has 3 elements: it can add at most one less");
  EXPECT_EQ(error({3}, {0, 7}),
            place + "7 to axis 0, which has 3 elements: it can add at most one less");
  EXPECT_EQ(error({1}, {1, 0}),
            place + "1 to axis 0, which has 1 elements: it can add at most one less");
  EXPECT_EQ(error({4}, {2, -1}), "");
  EXPECT_EQ(error({4}, {2, -2}),
            place + "2 to axis 0, which has 2 elements: it can add at most one less");
}

TEST(SizesOutOfRange, OfAResizeAreRefused) {
  const auto error = [&](int64_t size) {
    const OperatorCall call = {
        "Resize", 18, {Counting({1, 4}), HostTensor(), HostTensor(), Ints({2}, {1, size})}};
    return std::string(RunOperator(call).status().message());
  };
  EXPECT_EQ(error(2), "");
  EXPECT_EQ(error(0), "n (Resize, opset 18): size 4 cannot become 0");
  EXPECT_EQ(error(-1), "n (Resize, opset 18): size 4 cannot become -1");
}

// --- Unchecked runs write no other memory.

TEST(UncheckedScatters, WriteNoOtherElement) {
  if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  InputValues inputs;
  const auto elements =
      ModelOf({"ScatterElements",
               18,
               {Counting({5}), Ints({4}, {kFar, -kFar + 1, 5, 2}), Values({4}, {70, 80, 90, 100})}},
              &inputs);
  const Results scattered = RunOnDevice(elements, inputs, /*unchecked=*/true);
  ASSERT_TRUE(scattered.ok()) << scattered.status();
  EXPECT_THAT(scattered->at(0).ToDoubles(), ElementsAre(1, 2, 100, 4, 5));
  inputs.clear();
  const auto unpool = ModelOf({"MaxUnpool",
                               11,
                               {Counting({1, 1, 2}), Ints({1, 1, 2}, {kFar, 3})},
                               Attribute("kernel_shape", std::vector<int64_t>{2}) +
                                   Attribute("strides", std::vector<int64_t>{2})},
                              &inputs);
  const Results unpooled = RunOnDevice(unpool, inputs, /*unchecked=*/true);
  ASSERT_TRUE(unpooled.ok()) << unpooled.status();
  EXPECT_THAT(unpooled->at(0).ToDoubles(), ElementsAre(0, 0, 0, 2));
}

TEST(CircularTensorScatter, TakesEveryIndex) {
  for (const int64_t start : {int64_t{3}, int64_t{-1}, kFar - 1, int64_t{-5}}) {
    const auto results =
        RunOperator({"TensorScatter",
                     24,
                     {Counting({1, 4, 1}), Values({1, 2, 1}, {70, 80}), Ints({1}, {start})},
                     Attribute("mode", std::string("circular"))});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(results->at(0).ToDoubles(), ElementsAre(80, 2, 3, 70)) << start;
  }
}

TEST(ProvenIndices, LaunchNoKernelMore) {
  if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  const std::string two = " initializer { name: 'two' data_type: 7 dims: 1 int64_data: 2 } ";
  const std::string ten = IntConstant("ten", 10) + IntConstant("nine", 9) + IntConstant("zero", 0);
  const std::string x = FloatInput("x", "10") + two + ten;
  const std::string take = Node("take", "Gather", {"x", "i"}, {"y"}) + Output("y");
  const std::string cast = CastToInts("x", "j");
  const std::map<std::string, std::string> makers = {
      {"TopK", Node("top", "TopK", {"x", "two"}, {"v", "i"})},
      {"ArgMax", Node("most", "ArgMax", {"x"}, {"i"})},
      {"Mod", cast + Node("mod", "Mod", {"j", "ten"}, {"i"})},
      {"Clip", cast + Node("clip", "Clip", {"j", "zero", "nine"}, {"i"})},
      {"moved", Node("top", "TopK", {"x", "two"}, {"v", "k"}) +
                    Node("u", "Unsqueeze", {"k", "zero"}, {"l"}) +
                    Node("c", "Cast", {"l"}, {"i"}, Attribute("to", int64_t{kInt32}))}};
  for (const auto& [name, maker] : makers) {
    const std::string fixed =
        name == "moved" ? " initializer { name: 'axes' data_type: 7 dims: 1 int64_data: 0 } " : "";
    std::string made = maker;
    if (name == "moved") made.replace(made.find("input: 'zero'"), 13, "input: 'axes'");
    const auto model = LoadModel("graph { " + fixed + x + made + take + " }", 16);
    ASSERT_NE(model, nullptr);
    const InputValues inputs = {{"x", Counting({10})}};
    api::RunStatistics checked;
    api::RunStatistics unchecked;
    ASSERT_TRUE(RunOnDevice(model, inputs, false, &checked).ok());
    ASSERT_TRUE(RunOnDevice(model, inputs, true, &unchecked).ok());
    EXPECT_EQ(checked.kernels, unchecked.kernels) << name;
  }
}

TEST(ProvenIndices, AreThoseOfMaximaWithinWhatTheyWereTakenFrom) {
  const std::string windows = Attribute("kernel_shape", std::vector<int64_t>{2, 2}) +
                              Attribute("strides", std::vector<int64_t>{2, 2});
  for (const int64_t storage_order : {0, 1}) {
    const auto model =
        LoadModel("graph { " + FloatInput("x", "2 3 4 6") +
                      Node("pool", "MaxPool", {"x"}, {"m", "i"},
                           windows + Attribute("storage_order", storage_order)) +
                      Node("unpool", "MaxUnpool", {"m", "i"}, {"y"}, windows) + Output("y") + " }",
                  16);
    ASSERT_NE(model, nullptr);
    std::vector<api::InputBinding> bindings(1);
    bindings[0].shape = {DataType::kFloat32, {2, 3, 4, 6}};
    const auto bound = model->Bind(bindings);
    ASSERT_TRUE(bound.ok()) << bound.status();
    std::vector<api::Tensor> outputs;
    for (const api::Value& output : bound->outputs) api::AppendTensors(output, &outputs);
    EXPECT_TRUE(api::ChecksOf(outputs).empty()) << "storage order " << storage_order;
  }
}

}  // namespace
}  // namespace tartan::onnx::out_of_range_test
