// SPDX-License-Identifier: Apache-2.0
// One kernel of each form that GPUs get, on the OpenCL device at hand (any device has work-groups
// and local memory), against the naive evaluator. scripts/oclgrind.sh runs it under oclgrind, too.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/compiler/row_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/base/match.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select_plan.h"

namespace tartan::evaluator {
namespace {

TensorShape F32(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

HardwareSettings Gpu() {
  HardwareSettings settings;
  settings.threads = 64;
  settings.vector_width = 1;
  settings.has_local_memory = true;
  settings.local_memory_bytes = 32768;
  settings.register_bytes = 65536;
  settings.max_work_group_size = 64;
  settings.compute_units = 2;
  return settings;
}

struct Form {
  TestProgram program;
  bool prefetches = false;
};

std::vector<Form> Forms() {
  const std::string matmul =
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
  const std::string convolution =
      "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (R) { O[n, x, y, co : N, X, Y, CO] = "
      "+(D[n, x+i-1, y+j-1, ci] * K[i, j, ci, co]); R = (O > 0 ? O : 0); }";
  return {
      {{"Tiles", matmul, {F32({33, 20}), F32({20, 36})}}},
      {{"PrefetchedTiles", matmul, {F32({33, 80}), F32({80, 36})}}, true},
      {{"Primes", matmul, {F32({17, 13}), F32({13, 19})}}, true},
      {{"PaddedWindows", convolution, {F32({2, 7, 6, 8}), F32({3, 3, 8, 8})}}, true},
      {{"CheckedEdges",
        "function (A[M, L], B[N]) -> (C) { C[i, j : M, N] = *(A[i + k - 1, j] + B[j]), k < 3; }",
        {F32({9, 8}), F32({8})}}},
      {{"JoinedPartials", "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }", {F32({3, 515})}}},
      {{"Columns", "function (I[M, N]) -> (O) { O[n : N] = >(I[m, n]); }", {F32({130, 12})}}},
      {{"TwoKernels", "function (I[M]) -> (O) { O[] = +(I[m]); }", {F32({9001})}}},
      {{"Elementwise", "function (A, B) -> (O) { O = A * B + 1; }", {F32({5, 12}), F32({12})}}},
      {{"Transposed",
        "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
        {F32({37, 20})}}},
      // Special operations: sorted runs and merges, updates sorted by target, running sums in
      // parts.
      {{"Sorted", "function (X) -> (O) { O = argsort(round(X), 1, 1); }", {F32({2, 99})}}},
      {{"Scattered",
        "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
        {F32({70, 3}), {DataType::kInt64, {70}}, F32({20})},
        -25,
        25}},
      {{"RunningSum", "function (X) -> (O) { O = cumsum(X, 1, 0, 1); }", {F32({2, 260})}}},
  };
}

enum class Runs : uint8_t { kOneByOne, kInSequence };

// The list's steps, one after the other, on the test device. In a sequence, kernels are written as
// functions of groups, and their launches run as one where the device can do that.
class ListRunner {
 public:
  ListRunner(const compiler::KernelList& list, hal::Device& device, Runs runs)
      : list_(list), device_(device), queue_(*device.CreateQueue(false)) {
    const bool in_sequence = runs == Runs::kInSequence;
    const codegen::Dialect dialect = opencl::DialectOf(in_sequence ? Gpu() : TestSettings());
    std::vector<loop::Kernel> kernels = list.kernels;
    for (loop::Kernel& kernel : kernels) kernel.in_sequence = in_sequence;
    codegen::ProgramText text = codegen::WriteProgramParts(kernels, dialect);
    hal::ExecutableSource source;
    source.sequences_of_groups = in_sequence;
    source.format = dialect.format;
    source.options = dialect.compiler_options;
    source.prologue = std::move(text.prologue);
    for (size_t k = 0; k < list.kernels.size(); ++k) {
      source.kernels.push_back({list.kernels[k].name, std::move(text.kernels[k]), in_sequence});
    }
    executable_ = *device.Compile(source);
    for (const compiler::BufferInfo& buffer : list.buffers) {
      buffers_.push_back(*device.Allocate(std::max<int64_t>(buffer.bytes, 16)));
    }
  }

  HostTensor Run(const std::vector<HostTensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(queue_->Write(buffers_[list_.inputs[i]], 0, inputs[i].bytes()).ok());
    }
    for (const auto* steps : {&list_.setup, &list_.steps}) {
      for (const compiler::Step& step : *steps) Do(step);
      RunLaunches();
    }
    std::vector<uint8_t> bytes(list_.output_shapes[0].byte_size());
    EXPECT_TRUE(queue_->Read(buffers_[list_.outputs[0]], 0, absl::MakeSpan(bytes)).ok());
    return HostTensor(list_.output_shapes[0], bytes);
  }

 private:
  void Do(const compiler::Step& step) {
    Match(
        step, [&](const compiler::LaunchStep& launch) { Launch(launch); },
        [&](const compiler::FillStep& fill) {
          const TensorShape& shape = list_.buffers[fill.buffer].shape;
          RunLaunches();
          std::vector<uint8_t> bytes(shape.byte_size());
          for (int64_t i = 0; i < shape.element_count(); ++i) {
            StoreElement(fill.type, fill.value, i, bytes.data());
          }
          EXPECT_TRUE(queue_->Write(buffers_[fill.buffer], 0, bytes).ok());
        },
        [&](const compiler::CopyStep&) { ADD_FAILURE() << "no form copies"; });
  }

  void Launch(const compiler::LaunchStep& step) {
    const loop::Kernel& kernel = list_.kernels[step.kernel];
    hal::Launch launch;
    launch.entry_point = step.kernel;
    for (int buffer : step.buffers) launch.arguments.push_back(buffers_[buffer]);
    for (int d = 0; d < 3; ++d) {
      launch.global_size[d] = kernel.global_size[d];
      launch.local_size[d] = kernel.local_size[d];
    }
    launches_.push_back(std::move(launch));
  }

  // All as one recording, with a copy that makes it a sequence even where there is one alone.
  void RunLaunches() {
    if (launches_.empty()) return;
    const hal::BufferPtr spare = *device_.Allocate(16);
    launches_.push_back(hal::Launch::Copy(launches_[0].arguments[0], 0, spare, 0, 4));
    const auto recording = device_.Record(executable_, launches_);
    ASSERT_TRUE(recording.ok()) << recording.status();
    const absl::Status replayed = queue_->Replay(*recording);
    EXPECT_TRUE(replayed.ok()) << replayed;
    launches_.clear();
  }

  const compiler::KernelList& list_;
  hal::Device& device_;
  std::unique_ptr<hal::Queue> queue_;
  hal::ExecutablePtr executable_;
  std::vector<hal::Launch> launches_;
  std::vector<hal::BufferPtr> buffers_;
};

class GroupDeviceTest : public testing::TestWithParam<Form> {};

TEST_P(GroupDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const TestProgram& test = GetParam().program;
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = Gpu();
  std::string plan;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const std::vector<bool>& constant) {
    plan::PlannedKernel planned = plan::PlanKernel(flat, Gpu(), constant);
    auto* const groups = std::get_if<plan::GpuPlan>(&planned.plan);
    EXPECT_NE(groups, nullptr);
    if (groups != nullptr) groups->prefetches = GetParam().prefetches;
    absl::StrAppend(&plan, plan::ToString(planned.plan, planned.flat), "\n");
    return planned;
  };
  const auto list = compiler::Compile(program, options, hooks);
  ASSERT_TRUE(list.ok()) << list.status();
  for (const Runs runs : {Runs::kOneByOne, Runs::kInSequence}) {
    const HostTensor actual = ListRunner(*list, *TestDevice(), runs).Run(inputs);
    EXPECT_EQ(FirstDifference(actual, (*expected)[0], 2e-5), "") << plan;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GroupDeviceTest, testing::ValuesIn(Forms()),
                         [](const auto& info) { return info.param.program.name; });

class RowGroupDeviceTest : public testing::TestWithParam<RowProgram> {};

TEST_P(RowGroupDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const TestProgram& test = GetParam().program;
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = Gpu();
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(static_cast<int>(list->steps.size()), GetParam().launches);
  for (const Runs runs : {Runs::kOneByOne, Runs::kInSequence}) {
    const HostTensor actual = ListRunner(*list, *TestDevice(), runs).Run(inputs);
    EXPECT_EQ(FirstDifference(actual, (*expected)[0], 2e-5), "");
  }
}

// The forms of chains: one row for a group and several, rows as neighbours, results in buffers.
std::vector<RowProgram> RowForms() {
  std::vector<RowProgram> forms;
  for (const RowProgram& row_program : RowPrograms()) {
    for (const char* name : {"Softmax3x131", "LayerNormalization37x16", "SoftmaxOverChannels",
                             "IntermediateIsAnOutput", "FirstElementwise"}) {
      if (row_program.program.name == name) forms.push_back(row_program);
    }
  }
  return forms;
}

INSTANTIATE_TEST_SUITE_P(All, RowGroupDeviceTest, testing::ValuesIn(RowForms()),
                         [](const auto& info) { return info.param.program.name; });

}  // namespace
}  // namespace tartan::evaluator
