// SPDX-License-Identifier: Apache-2.0
// Compares the kernels of a training step, compiled for several machines and interpreted, with the
// naive evaluator. Needs no device; states are updated in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/tensor_node.h"
#include "frontend/train/train_step.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"
#include "tests/golden/machines.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::train::step_kernels_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;

// Two convolutions with batch normalisations, whose running statistics are also states.
std::string ConvolutionsText() {
  const auto normalised = [](const std::string& from, const std::string& to, int64_t channels) {
    const std::string n = to + "_";
    return absl::StrCat(InitializerText(n + "scale", {channels}, 5),
                        InitializerText(n + "bias", {channels}, 6),
                        InitializerText(n + "mean", {channels}, 7),
                        InitializerText(n + "var", {channels},
                                        std::vector<float>(static_cast<size_t>(channels), 1.0F)),
                        NodeText("BatchNormalization",
                                 {from, n + "scale", n + "bias", n + "mean", n + "var"}, {n + "y"}),
                        NodeText("Relu", {n + "y"}, {to}));
  };
  return absl::StrCat("graph { name: 'cnn' ", ValueText("input", "x", 1, "N 3 9 8"),
                      " output { name: 'y' } ", InitializerText("k1", {8, 3, 3, 3}, 1),
                      InitializerText("k2", {6, 8, 3, 3}, 2), InitializerText("w", {6, 3}, 3),
                      InitializerText("b", {3}, 4), NodeText("Conv", {"x", "k1"}, {"c1"}),
                      normalised("c1", "h1", 8), NodeText("Conv", {"h1", "k2"}, {"c2"}),
                      normalised("c2", "h2", 6), NodeText("GlobalAveragePool", {"h2"}, {"p"}),
                      NodeText("Flatten", {"p"}, {"f"}), NodeText("MatMul", {"f", "w"}, {"z"}),
                      NodeText("Add", {"z", "b"}, {"y"}), "}");
}

// The program of a step, its states, and values for its inputs.
struct BoundStep {
  ir::Program program;
  std::vector<HostTensor> values;
};

HostTensor ValueFor(const api::Tensor& input, uint64_t seed) {
  const TestProgram one{"one", "function (X) -> (Y) { Y = X; }", {input.shape()}, -1, 1};
  if (IsFloat(input.type())) {
    // Optimizers' averages of squares are not negative.
    const bool is_square = input.node()->name.rfind("square/", 0) == 0;
    const TestProgram drawn{"one", one.code, one.inputs, is_square ? 0.0 : -1.0, 1};
    return RandomInputs(drawn, seed)[0];
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(input.shape().byte_size()));
  for (int64_t i = 0; i < input.shape().element_count(); ++i) {
    const int64_t value = input.type() == DataType::kInt64 ? i * 7 % 3 : 0;
    StoreElement(input.type(), value, i, bytes.data());
  }
  return HostTensor(input.shape(), bytes);
}

BoundStep Bind(const StepGraph& graph) {
  std::vector<api::Tensor> placeholders = graph.inputs;
  std::vector<api::Tensor> outputs = graph.outputs;
  for (const api::ProgramState& state : graph.states) placeholders.push_back(state.input);
  std::vector<int> next(graph.inputs.size(), -1);
  for (const api::ProgramState& state : graph.states) {
    next.push_back(state.next.defined() ? static_cast<int>(outputs.size()) : -1);
    if (state.next.defined()) outputs.push_back(state.next);
  }
  const auto composed = api::Compose(placeholders, outputs, "step");
  EXPECT_TRUE(composed.ok()) << composed.status();
  BoundStep step;
  lang::BindOptions options;
  std::vector<TensorShape> shapes;
  for (size_t i = 0; i < composed->inputs.size(); ++i) {
    const api::Tensor& input = composed->inputs[i];
    shapes.push_back(input.shape());
    const bool is_state = i >= graph.inputs.size() && i < placeholders.size();
    options.inputs.push_back(
        {input.constant() != nullptr, is_state, i < next.size() ? next[i] : -1});
    step.values.push_back(input.constant() != nullptr ? *input.constant() : ValueFor(input, i + 1));
  }
  const auto function = lang::Parse(composed->program.code(), "step");
  EXPECT_TRUE(function.ok()) << function.status();
  auto program = lang::Bind(*function, shapes, options);
  EXPECT_TRUE(program.ok()) << program.status();
  step.program = *std::move(program);
  return step;
}

class StepKernels : public testing::TestWithParam<golden::Machine> {
 protected:
  void ExpectDefinition(const StepPlan& plan, int64_t batch) const {
    compiler::KernelList list;
    Check(MlpText(), {batch, 5}, plan, &list);
  }

  void Check(const std::string& text, const std::vector<int64_t>& input, const StepPlan& plan,
             compiler::KernelList* made) const {
    const auto model = LoadToTrain(text);
    ASSERT_TRUE(model.ok()) << model.status();
    auto parameters = FindParameters(**model, {});
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    const BatchShapes shapes{{{"x", {DataType::kFloat32, input}}},
                             TensorShape{DataType::kInt64, {input[0]}}};
    const auto graph = BuildStep(**model, &*parameters, plan, shapes);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const BoundStep step = Bind(*graph);
    const auto expected = ir::EvaluateNaively(step.program, step.values);
    ASSERT_TRUE(expected.ok()) << expected.status();
    compiler::CompileOptions options;
    options.settings = GetParam().settings;
    const auto list = compiler::Compile(step.program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    const auto actual = compiler::InterpretList(*list, step.values);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 2e-5), "")
          << "output " << o << " for " << graph->specs[o - graph->outputs.size()].name;
    }
    *made = *list;
  }
};

TEST_P(StepKernels, ComputeWhatTheDefinitionSays) {
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLamb}) {
    for (const double clip : {0.0, 0.1}) {
      for (const bool accumulates : {false, true}) {
        SCOPED_TRACE(absl::StrCat(Name(kind), " clip ", clip, " accumulates ", accumulates));
        StepPlan plan;
        plan.output = "y";
        plan.optimizer.kind = kind;
        plan.clip_norm = clip;
        plan.accumulates = accumulates;
        ExpectDefinition(plan, 8);
        ExpectDefinition(plan, 3);
      }
    }
  }
}

// Small states are updated by fused row kernels. Copies of them would take a GPU longer than the
// kernels themselves.
TEST_P(StepKernels, UpdateRunningStatisticsInPlace) {
  StepPlan plan;
  plan.output = "y";
  plan.mode.batch_norm = true;
  plan.optimizer.kind = OptimizerKind::kAdamW;
  for (const int64_t batch : {4, 7}) {
    compiler::KernelList list;
    Check(ConvolutionsText(), {batch, 3, 9, 8}, plan, &list);
    const auto copies =
        std::count_if(list.steps.begin(), list.steps.end(), [](const compiler::Step& step) {
          return std::holds_alternative<compiler::CopyStep>(step);
        });
    const bool is_gpu = GetParam().settings.has_local_memory;
    EXPECT_LE(copies, is_gpu ? 0 : 16) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StepKernels, testing::ValuesIn(golden::Machines()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tartan::train::step_kernels_test
