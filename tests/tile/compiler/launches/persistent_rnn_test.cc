// SPDX-License-Identifier: Apache-2.0
// Tests when a step of a recurrent network becomes a persistent (weight-stationary) kernel, and
// that single launches agree with the naive evaluator. tests/tile/evaluator/runs_device_test.cc
// tests batches of launches.
#include "tile/compiler/launches/persistent_rnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/launches/step_programs.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/launches/share_kernels.h"
#include "tile/loop/launch_batches.h"

namespace tartan::compiler::keep_weights_test {
namespace {

using ::testing::HasSubstr;

CompileOptions Gpu() {
  CompileOptions options;
  HardwareSettings& gpu = options.settings;
  gpu.threads = gpu.max_work_group_size = 256;
  gpu.has_local_memory = true;
  gpu.vector_width = 1;
  gpu.compute_units = 132;
  gpu.local_memory_bytes = 48 << 10;
  gpu.matrix_local_bytes = 227 << 10;
  gpu.register_bytes = 64 << 10;
  gpu.batches_launches = true;
  return options;
}

KernelList ListOf(const ir::Program& program, const CompileOptions& options) {
  auto list = Compile(program, options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *std::move(list) : KernelList();
}

// Returns whether some launch keeps its weights in registers or local memory.
bool Keeps(const ir::Program& program, const CompileOptions& options = Gpu()) {
  for (const loop::Kernel& kernel : ListOf(program, options).kernels) {
    if (!loop::PersistentParameters(kernel).empty()) return true;
  }
  return false;
}

ir::Input& InputOf(ir::Program* program, int number) {
  return std::get<ir::Input>(program->values[program->inputs[number]].op);
}

TEST(PlanPersistentRnn, AStepIsOneGroupThatComputesWhatItDid) {
  for (const StepProgram& step : StepPrograms()) {
    SCOPED_TRACE(step.program.name);
    const ir::Program program = BindStep(step);
    const KernelList list = ListOf(program, Gpu());
    ASSERT_EQ(list.steps.size(), 1);
    const loop::Kernel& kernel = list.kernels[std::get<LaunchStep>(list.steps[0]).kernel];
    EXPECT_EQ(loop::PersistentParameters(kernel).size(), 1);
    EXPECT_EQ(kernel.local_size[0], 256);
    EXPECT_EQ(kernel.global_size[0], 256);
    EXPECT_TRUE(kernel.in_launch_batch);
    CompileOptions without = Gpu();
    without.disabled_passes.insert("persistent-rnn");
    EXPECT_FALSE(Keeps(program, without));
    const std::vector<HostTensor> inputs = RandomInputs(step.program, 3);
    ExpectSameResults(list, ListOf(program, without), inputs, 1e-5);
  }
}

// Returns the text of the only launch's kernel.
std::string TextOf(const ir::Program& program) {
  const KernelList list = ListOf(program, Gpu());
  return loop::ToString(list.kernels[std::get<LaunchStep>(list.steps[0]).kernel]);
}

// The next launch finds the new hidden state in local memory, rather than the cell state of the
// same size.
TEST(PlanPersistentRnn, TheRowsOfTheNextLaunchStayInLocalMemory) {
  const ir::Program program = BindStep(LstmStep(1, 32));
  const KernelList list = ListOf(program, Gpu());
  const auto& launch = std::get<LaunchStep>(list.steps[0]);
  const auto place = std::find(launch.buffers.begin(), launch.buffers.end(), list.outputs[0]);
  EXPECT_THAT(TextOf(program),
              HasSubstr(absl::StrCat("was out", place - launch.buffers.begin(), "[0]")));
  // Swaps the outputs, so that nothing identifies the hidden state.
  ir::Program other = program;
  std::swap(other.outputs[0], other.outputs[1]);
  EXPECT_THAT(TextOf(other),
              HasSubstr(absl::StrCat("was out", place == launch.buffers.begin(), "[0]")));
}

TEST(PlanPersistentRnn, OnlyProgramsThatAreRepeatedDo) {
  const StepProgram step = GruStep(1, 32);
  ir::Program program = BindTestProgram(step.program);
  for (int input : step.constants) InputOf(&program, input).is_constant = true;
  EXPECT_FALSE(Keeps(program));
  EXPECT_TRUE(Keeps(BindStep(step)));
}

// Counts the launches of the list that keep their weights.
int PersistentLaunches(const KernelList& list) {
  return static_cast<int>(
      std::count_if(list.steps.begin(), list.steps.end(), [&](const Step& step) {
        const auto* launch = std::get_if<LaunchStep>(&step);
        return launch != nullptr &&
               !loop::PersistentParameters(list.kernels[launch->kernel]).empty();
      }));
}

// The first launch reads its rows from an input and therefore has a kernel of its own.
TEST(PlanPersistentRnn, TheStepsThatAProgramHasBehindEachOtherDo) {
  for (const auto& [rows, states] : {std::pair(1, 64), std::pair(2, 37)}) {
    const TestProgram test = UnrolledLstm(rows, states, kMinShared + 1);
    SCOPED_TRACE(test.name);
    const KernelList list = ListOf(BindUnrolled(test), Gpu());
    ASSERT_EQ(list.steps.size(), kMinShared + 1);
    EXPECT_EQ(PersistentLaunches(list), kMinShared + 1);
    std::set<int> kernels;
    for (const Step& step : list.steps) kernels.insert(std::get<LaunchStep>(step).kernel);
    EXPECT_EQ(kernels.size(), 2);
    ExpectNaiveResults(test, list);
  }
}

TEST(PlanPersistentRnn, AFewStepsOfAProgramHaveKernelsOfTheirOwn) {
  EXPECT_EQ(PersistentLaunches(ListOf(BindUnrolled(UnrolledLstm(1, 32, kMinShared)), Gpu())), 0);
}

TEST(PlanPersistentRnn, StepsWithWeightsByTurnsAreNoRun) {
  const TestProgram test = UnrolledLstm(1, 32, 2 * kMinShared, /*weights=*/2);
  const KernelList list = ListOf(BindUnrolled(test), Gpu());
  EXPECT_EQ(PersistentLaunches(list), 0);
  ExpectNaiveResults(test, list);
}

TEST(PlanPersistentRnn, WeightsThatMayChangeAreReadByEachLaunch) {
  ir::Program program = BindStep(GruStep(1, 32));
  InputOf(&program, 2).is_constant = false;
  EXPECT_FALSE(Keeps(program));
}

TEST(PlanPersistentRnn, StatesInMemoryOfTheCallersStayThere) {
  ir::Program program = BindStep(LstmStep(1, 32));
  InputOf(&program, 1).is_state = true;
  InputOf(&program, 1).next = 1;
  EXPECT_FALSE(Keeps(program));
}

// A batch must consist of launches of one kernel.
TEST(PlanPersistentRnn, SeveralLaunchesDoNot) {
  StepProgram step = GruStep(1, 32);
  step.program.code.replace(step.program.code.find("(Y)"), 3, "(Y, T)");
  step.program.code.replace(step.program.code.rfind('}'), 1, "T[b : B] = +(Y[b, h] * Y[b, h]); }");
  EXPECT_EQ(ListOf(BindStep(step), Gpu()).steps.size(), 2);
  EXPECT_FALSE(Keeps(BindStep(step)));
}

TEST(PlanPersistentRnn, WhatDoesNotFitOneUnitDoesNot) {
  EXPECT_FALSE(Keeps(BindStep(LstmStep(1, 256))));
  EXPECT_FALSE(Keeps(BindStep(LstmStep(5, 8))));  // too many rows
  CompileOptions small = Gpu();
  small.settings.matrix_local_bytes = 0;
  EXPECT_FALSE(Keeps(BindStep(LstmStep(1, 128)), small));
  EXPECT_TRUE(Keeps(BindStep(LstmStep(1, 32)), small));  // the registers have room for all weights
}

TEST(PlanPersistentRnn, OtherDevicesDoNot) {
  CompileOptions options = Gpu();
  options.settings.batches_launches = false;
  EXPECT_FALSE(Keeps(BindStep(LstmStep(1, 32)), options));
  EXPECT_FALSE(Keeps(BindStep(LstmStep(1, 32)), CompileOptions()));
}

}  // namespace
}  // namespace tartan::compiler::keep_weights_test
