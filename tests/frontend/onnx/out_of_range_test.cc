// Numbers out of range at run time: indices, lengths, labels. Each operator by definition and on a
// device, told to check and not to.
#include <cstdint>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/session.h"
#include "frontend/onnx/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kFloat = 1;
constexpr int kInt32 = 6;
constexpr int kInt64 = 7;
constexpr int64_t kFar = int64_t{1} << 62;

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)}, values);
}

HostTensor Ints32(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt32, std::move(dims)}, values);
}

// 1, 2, 3 …
HostTensor Counting(std::vector<int64_t> dims) {
  const TensorShape shape{DataType::kFloat32, std::move(dims)};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.element_count(); ++i) values.push_back(static_cast<float>(i + 1));
  return HostTensor::FromVector(shape, values);
}

std::shared_ptr<api::Device> TestDevice() {
  static const auto* const device = [] {
    auto opened = api::Device::Open();
    return new std::shared_ptr<api::Device>(opened.ok() ? *opened : nullptr);
  }();
  return *device;
}

std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& rest = "") {
  std::string text = absl::StrCat(" node { name: '", name, "' op_type: '", op, "'");
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  for (const std::string& output : outputs) absl::StrAppend(&text, " output: '", output, "'");
  return absl::StrCat(text, " ", rest, " } ");
}

std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return absl::StrCat(" attribute { name: '", name, "' type: GRAPH g { ", graph, " } } ");
}

std::string Output(const std::string& name) {
  return absl::StrCat(" output { name: '", name, "' } ");
}

std::string IntConstant(const std::string& name, int64_t value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}

std::shared_ptr<const OnnxModel> LoadModel(const std::string& text, int opset) {
  const std::string bytes = ModelBytes(text, opset);
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *model : nullptr;
}

using Inputs = std::map<std::string, HostTensor>;
using Results = absl::StatusOr<std::vector<HostTensor>>;

Results RunOnDevice(const std::shared_ptr<const OnnxModel>& model, const Inputs& inputs,
                    bool unchecked = false, api::RunStatistics* statistics = nullptr) {
  api::SessionOptions options;
  options.unchecked = unchecked;
  auto session = api::Session::Create(model, TestDevice(), options);
  if (!session.ok()) return session.status();
  const Results results = (*session)->Run(inputs, statistics);
  // The frame of a run that has failed serves the next one.
  const Results again = (*session)->Run(inputs);
  EXPECT_EQ(again.status(), results.status());
  return results;
}

// By the definition of Tile, for models that ask nothing.
Results RunByDefinition(const OnnxModel& model, const Inputs& inputs) {
  std::vector<api::InputBinding> bindings;
  std::vector<api::HostValue> values;
  values.reserve(model.inputs().size());
  for (const api::TensorSpec& spec : model.inputs()) {
    values.emplace_back(inputs.at(spec.name));
    bindings.emplace_back().shape = inputs.at(spec.name).shape();
  }
  auto bound = model.Bind(bindings);
  if (bound.ok() && !bound->needed_values.empty()) {
    for (const int input : bound->needed_values) {
      bindings[static_cast<size_t>(input)].value = &values[static_cast<size_t>(input)];
    }
    bound = model.Bind(bindings);
  }
  if (!bound.ok()) return bound.status();
  std::vector<api::Tensor> placeholders;
  std::vector<HostTensor> given;
  for (size_t i = 0; i < bound->placeholders.size(); ++i) {
    if (!bound->placeholders[i].defined()) continue;
    placeholders.push_back(bound->placeholders[i]);
    given.push_back(values[i].tensor());
  }
  std::vector<api::Tensor> outputs;
  for (const api::Value& output : bound->outputs) api::AppendTensors(output, &outputs);
  return api::EvaluateByDefinition(placeholders, given, outputs, int64_t{1} << 26);
}

// An operator, one of whose operands is held to a range, and values of that operand out of range.
struct Case {
  OperatorCall call;  // with operands in range
  size_t operand = 1;
  struct Bad {
    HostTensor value;
    std::string message;  // behind the node
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
  cases.push_back({{"ArrayFeatureExtractor", 13, {x, row(4)}, "", 1, "ai.onnx.ml"},
                   1,
                   {{row(5), "index 5" + of1}}});
  return cases;
}

// The operator as the node 'n' of a model with an input for each operand.
std::shared_ptr<const OnnxModel> ModelOf(const OperatorCall& call, Inputs* inputs) {
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
    Inputs inputs;
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
    Inputs inputs;
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

// --- Where the numbers are computed on the way.

class ComputedIndices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  }

  // The error, which is that of the definition where the model asks nothing.
  std::string Error(const std::string& graph, const Inputs& inputs, bool asks = false) {
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

std::string FloatInput(const std::string& name, const std::string& dims) {
  return ValueText("input", name, kFloat, dims);
}

std::string CastToInts(const std::string& from, const std::string& to) {
  return Node(to, "Cast", {from}, {to}, Attribute("to", int64_t{kInt64}));
}

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
  // One check is made on the host, where the input's values are, the other on the device.
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

// A loop of `turns` whose body takes x[index], where `index` is made by the body's other nodes of
// the turn `t`, the state `s` and what is outside.
std::string LoopGraph(int64_t turns, const std::string& make_index, const std::string& condition) {
  const std::string body = " input { name: 't' } input { name: 'c' } input { name: 's' } " +
                           make_index + Node("take", "Gather", {"x", "index"}, {"row"}) +
                           Node("next", "Add", {"s", "row"}, {"n"}) + condition + Output("go") +
                           Output("n") + Output("row");
  return FloatInput("x", "6") + FloatInput("start", "") + ValueText("input", "k", kInt64, "") +
         IntConstant("turns", turns) +
         Node("loop", "Loop", {"turns", "", "start"}, {"y", "rows"}, GraphAttribute("body", body)) +
         Output("y") + Output("rows");
}

constexpr char kGoOn[] = " node { name: 'same' op_type: 'Identity' input: 'c' output: 'go' } ";

TEST_F(ComputedIndices, InABodyThatStaysOnTheDeviceAreChecked) {
  const auto run = [&](int64_t turns, const std::string& index, int64_t k) {
    return Error(LoopGraph(turns, index, kGoOn),
                 {{"x", Counting({6})}, {"start", Values({}, {0})}, {"k", Ints({}, {k})}}, true);
  };
  const std::string place = "loop (Loop, opset 16): take (Gather, opset 16): index ";
  const std::string bounds = " is out of range [-6, 5] of axis 0";
  // The number of the turn.
  const std::string turn = Node("same_turn", "Identity", {"t"}, {"index"});
  EXPECT_EQ(run(6, turn, 0), "");
  EXPECT_EQ(run(8, turn, 0), place + "7" + bounds);
  // A value from outside, the same for all turns.
  const std::string outer = Node("same_k", "Identity", {"k"}, {"index"});
  EXPECT_EQ(run(7, outer, -6), "");
  EXPECT_EQ(run(7, outer, 6), place + "6" + bounds);
  EXPECT_EQ(run(0, outer, 6), "");
  // What is computed from both.
  const std::string sum = Node("sum", "Add", {"t", "k"}, {"index"});
  EXPECT_EQ(run(7, sum, -6), "");
  EXPECT_EQ(run(7, sum, -8), place + "-8" + bounds);
  // What is computed from the state: 0, 1, 3, 8, beyond.
  const std::string state = CastToInts("s", "index");
  EXPECT_EQ(run(3, state, 0), "");
  EXPECT_THAT(run(7, state, 0), StartsWith(place));
}

TEST_F(ComputedIndices, EndALoopWhoseConditionTheyWouldHaveMet) {
  // Goes on while the row is positive, which the last one stays for ever.
  const std::string condition =
      " node { name: 'positive' op_type: 'Greater' input: 'row' input: 'zero' output: 'go' } ";
  const std::string zero = " initializer { name: 'zero' data_type: 1 float_data: 0 } ";
  const std::string graph =
      zero + LoopGraph(5'000'000, Node("same_turn", "Identity", {"t"}, {"index"}), condition);
  const auto model = LoadModel("graph { " + graph + " }", 16);
  ASSERT_NE(model, nullptr);
  const Inputs inputs = {{"x", Counting({6})}, {"start", Values({}, {0})}, {"k", Ints({}, {0})}};
  EXPECT_EQ(RunOnDevice(model, inputs).status().message(),
            "loop (Loop, opset 16): take (Gather, opset 16): index 6 is out of range [-6, 5] of "
            "axis 0");
}

TEST_F(ComputedIndices, OfAScanAreCheckedBeforeItsFirstTurn) {
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

// --- Sizes, which are known before anything runs.

TEST(SizesOutOfRange, OfAReflectionAreRefused) {
  const std::string reflect = Attribute("mode", std::string("reflect"));
  const auto error = [&](std::vector<int64_t> dims, std::vector<int64_t> pads) {
    const OperatorCall call = {"Pad", 18, {Counting(std::move(dims)), Ints({2}, pads)}, reflect};
    return std::string(RunOperator(call).status().message());
  };
  const std::string place = "n (Pad, opset 18): mode 'reflect' adds ";
  EXPECT_EQ(error({3}, {2, 2}), "");
  EXPECT_EQ(error({3}, {3, 0}), place + "3 to axis 0, which has 3: fewer are needed");
  EXPECT_EQ(error({3}, {0, 7}), place + "7 to axis 0, which has 3: fewer are needed");
  EXPECT_EQ(error({1}, {1, 0}), place + "1 to axis 0, which has 1: fewer are needed");
  EXPECT_EQ(error({4}, {2, -1}), "");
  EXPECT_EQ(error({4}, {2, -2}), place + "2 to axis 0, which has 2: fewer are needed");
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

// --- What is not checked costs nothing and harms nothing.

TEST(UncheckedScatters, WriteNoOtherElement) {
  if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
  Inputs inputs;
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
    const Inputs inputs = {{"x", Counting({10})}};
    api::RunStatistics checked;
    api::RunStatistics unchecked;
    ASSERT_TRUE(RunOnDevice(model, inputs, false, &checked).ok());
    ASSERT_TRUE(RunOnDevice(model, inputs, true, &unchecked).ok());
    EXPECT_EQ(checked.kernels, unchecked.kernels) << name;
  }
}

}  // namespace
}  // namespace tartan::onnx
