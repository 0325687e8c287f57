// SPDX-License-Identifier: Apache-2.0
// Tests persistent RNN kernels, whose work-group keeps the weights for a batch of launches. Runs on
// any OpenCL device, and compares each step with the naive evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/context/build_program.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "backend_opencl/launch_batch/megakernel.h"
#include "backend_opencl/launch_batch/megakernel_source.h"
#include "tests/tile/compiler/launches/step_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/testing.h"
#include "tile/base/launch_batch_limits.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/launch_batches.h"

namespace tartan::evaluator::runs_device_test {
namespace {

HardwareSettings Gpu() {
  HardwareSettings settings = TestGpu(256, 132);
  settings.matrix_local_bytes = 227 << 10;
  settings.batches_launches = true;
  settings.max_work_group_size = 256;
  return settings;
}

// Launches a step several times. Each launch has separate buffers, except for constants.
class LaunchBatchRunner {
 public:
  explicit LaunchBatchRunner(const compiler::KernelList& list)
      : list_(list), queue_(*TestDevice()->CreateQueue(false)) {}

  void Build() {
    const codegen::Dialect dialect = opencl::DialectOf(Gpu());
    std::vector<loop::Kernel> kernels = list_.kernels;
    for (loop::Kernel& kernel : kernels) kernel.in_launch_batch = true;
    codegen::ProgramText parts = codegen::WriteProgramParts(kernels, dialect);
    std::vector<hal::KernelSource> sources;
    std::string text = parts.prologue;
    for (size_t k = 0; k < kernels.size(); ++k) {
      absl::StrAppend(&text, parts.kernels[k]);
      kept_.push_back(loop::PersistentParameters(kernels[k]));
      cases_.push_back(static_cast<int>(k));
      sources.push_back({kernels[k].name, std::move(parts.kernels[k]), true, kept_.back()});
    }
    absl::StrAppend(&text, opencl::MegakernelSource(sources, kMaxBatchLocalBytes));
    opencl::OpenClContext& context = opencl::ContextOf(TestDevice());
    auto built = opencl::BuildFromSource(
        context, text, absl::StrCat(context.build_options(), dialect.compiler_options));
    ASSERT_TRUE(built.ok()) << built.status();
    program_ = *std::move(built);
  }

  // Returns, for each step, the outputs that are not inputs.
  std::vector<std::vector<HostTensor>> Run(const StepProgram& step_program,
                                           const StepInputs& inputs, int64_t groups) {
    std::vector<hal::BufferPtr> buffers = Allocate();
    for (size_t i = 0; i < list_.inputs.size(); ++i) {
      Write(inputs.first[i], buffers[list_.inputs[i]]);
    }
    std::vector<hal::Launch> launches;
    for (const compiler::Step& step : list_.setup) launches.push_back(LaunchOf(step, buffers));
    const std::vector<hal::BufferPtr> first = buffers;
    std::vector<std::vector<hal::BufferPtr>> made;
    for (const HostTensor& row : inputs.rows) {
      // Rows and results have new buffers in each step; a state is read from the buffer of the step
      // before.
      Write(row, buffers[list_.inputs[step_program.row]] = Like(step_program.row, buffers));
      for (size_t s = 0; s < step_program.states.size() && !made.empty(); ++s) {
        const int state = list_.inputs[step_program.states[s]];
        buffers[state] = made.size() == inputs.restart ? first[state] : made.back()[s];
      }
      made.emplace_back();
      for (size_t s = 0; s < step_program.states.size(); ++s) {
        made.back().push_back(buffers[list_.outputs[s]] = Like(step_program.states[s], buffers));
      }
      for (const compiler::Step& step : list_.steps) launches.push_back(LaunchOf(step, buffers));
    }
    RunLaunches(launches, groups);
    std::vector<std::vector<HostTensor>> results;
    for (const auto& step : made) {
      results.emplace_back();
      for (size_t s = 0; s < step.size(); ++s) {
        results.back().push_back(Read(step[s], list_.output_shapes[s]));
      }
    }
    return results;
  }

  // Returns the first output of a program that contains all steps.
  HostTensor RunProgram(const std::vector<HostTensor>& inputs, int64_t groups) {
    std::vector<hal::BufferPtr> buffers = Allocate();
    for (size_t i = 0; i < list_.inputs.size(); ++i) Write(inputs[i], buffers[list_.inputs[i]]);
    std::vector<hal::Launch> launches;
    for (const compiler::Step& step : list_.setup) {
      if (const auto* fill = std::get_if<compiler::FillStep>(&step)) {
        const compiler::BufferInfo& buffer = list_.buffers[fill->buffer];
        std::vector<uint8_t> bytes(buffer.bytes);
        for (int64_t n = 0; n < buffer.shape.element_count(); ++n) {
          StoreElement(fill->type, fill->value, n, bytes.data());
        }
        Write(HostTensor(buffer.shape, bytes), buffers[fill->buffer]);
      } else {
        launches.push_back(LaunchOf(step, buffers));
      }
    }
    for (const compiler::Step& step : list_.steps) launches.push_back(LaunchOf(step, buffers));
    RunLaunches(launches, groups);
    return Read(buffers[list_.outputs[0]], list_.output_shapes[0]);
  }

 private:
  // Allocates the buffers of the list.
  std::vector<hal::BufferPtr> Allocate() const {
    std::vector<hal::BufferPtr> buffers;
    for (const compiler::BufferInfo& buffer : list_.buffers) {
      buffers.push_back(*TestDevice()->Allocate(std::max<int64_t>(buffer.bytes, 16)));
    }
    return buffers;
  }

  hal::BufferPtr Like(int input, const std::vector<hal::BufferPtr>& buffers) const {
    return *TestDevice()->Allocate(buffers[list_.inputs[input]]->size());
  }

  void Write(const HostTensor& value, const hal::BufferPtr& buffer) {
    EXPECT_TRUE(queue_->Write(buffer, 0, value.bytes()).ok());
  }

  HostTensor Read(const hal::BufferPtr& buffer, const TensorShape& shape) {
    std::vector<uint8_t> bytes(shape.byte_size());
    EXPECT_TRUE(queue_->Read(buffer, 0, absl::MakeSpan(bytes)).ok());
    return HostTensor(shape, bytes);
  }

  hal::Launch LaunchOf(const compiler::Step& step,
                       const std::vector<hal::BufferPtr>& buffers) const {
    const auto& planned = std::get<compiler::LaunchStep>(step);
    hal::Launch launch;
    launch.entry_point = planned.kernel;
    for (int buffer : planned.buffers) launch.arguments.push_back(buffers[buffer]);
    for (int d = 0; d < 3; ++d) {
      launch.global_size[d] = list_.kernels[planned.kernel].global_size[d];
      launch.local_size[d] = list_.kernels[planned.kernel].local_size[d];
    }
    return launch;
  }

  void RunLaunches(const std::vector<hal::Launch>& launches, int64_t groups) {
    ASSERT_TRUE(queue_->Finish().ok());
    opencl::OpenClContext& context = opencl::ContextOf(TestDevice());
    auto sequence =
        opencl::Megakernel::Create(context, program_.get(), cases_, kept_, launches, groups);
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    cl_int error = CL_SUCCESS;
    const opencl::QueueHandle queue(opencl::CreateCl(&error, clCreateCommandQueue,
                                                     context.context(), context.id(),
                                                     cl_command_queue_properties{0}));
    const int count = static_cast<int>(launches.size());
    ASSERT_EQ((*sequence)->Enqueue(queue.get(), 0, count, nullptr), CL_SUCCESS);
    ASSERT_EQ(clFinish(queue.get()), CL_SUCCESS);
  }

  const compiler::KernelList& list_;
  std::unique_ptr<hal::Queue> queue_;
  opencl::ProgramHandle program_;
  std::vector<int> cases_;
  std::vector<std::vector<int>> kept_;
};

class RunsDeviceTest : public testing::TestWithParam<StepProgram> {};

TEST_P(RunsDeviceTest, EqualTheNaiveEvaluatorStepByStep) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const StepProgram& step = GetParam();
  compiler::CompileOptions options;
  options.settings = Gpu();
  const auto list = compiler::Compile(BindStep(step), options);
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->steps.size(), 1);
  const int kernel = std::get<compiler::LaunchStep>(list->steps[0]).kernel;
  ASSERT_FALSE(loop::PersistentParameters(list->kernels[kernel]).empty());
  LaunchBatchRunner runner(*list);
  ASSERT_NO_FATAL_FAILURE(runner.Build());
  StepInputs inputs = RandomSteps(step, 7, 7);
  for (const int64_t groups : {1, 3}) ExpectSteps(step, inputs, runner.Run(step, inputs, groups));
  // NaN and infinite inputs propagate as in the naive evaluator.
  const float infinity = std::numeric_limits<float>::infinity();
  SetElement(&inputs.rows[2], 1, infinity);
  SetElement(&inputs.rows[4], 0, std::numeric_limits<float>::quiet_NaN());
  SetElement(&inputs.first[step.states[0]], 0, -infinity);
  ExpectSteps(step, inputs, runner.Run(step, inputs, 1));
}

// Each launch finds the index of its rows in an argument buffer.
TEST(UnrolledRunsDeviceTest, StepsOfOneProgramEqualTheNaiveEvaluator) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  for (const auto& [rows, states] : {std::pair(1, 128), std::pair(3, 34)}) {
    const TestProgram test = UnrolledLstm(rows, states, 18);
    SCOPED_TRACE(test.name);
    compiler::CompileOptions options;
    options.settings = Gpu();
    const auto list = compiler::Compile(BindUnrolled(test), options);
    ASSERT_TRUE(list.ok()) << list.status();
    for (const compiler::Step& step : list->steps) {
      const int kernel = std::get<compiler::LaunchStep>(step).kernel;
      ASSERT_FALSE(loop::PersistentParameters(list->kernels[kernel]).empty());
    }
    LaunchBatchRunner runner(*list);
    ASSERT_NO_FATAL_FAILURE(runner.Build());
    const std::vector<HostTensor> inputs = RandomInputs(test, 5);
    const auto expected = ir::EvaluateNaively(BindTestProgram(test), inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (const int64_t groups : {1, 3}) {
      EXPECT_EQ(FirstDifference(runner.RunProgram(inputs, groups), (*expected)[0], 2e-5), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RunsDeviceTest, testing::ValuesIn(StepPrograms()),
                         [](const auto& info) { return info.param.program.name; });

}  // namespace
}  // namespace tartan::evaluator::runs_device_test
