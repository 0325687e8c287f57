// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/evaluator/list_runner.h"

#include <gtest/gtest.h>

#include <utility>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/evaluator/device.h"
#include "tile/base/match.h"
#include "tile/codegen/write_kernel.h"

namespace tartan::evaluator {

ListRunner::ListRunner(const compiler::KernelList& list, hal::Device& device, Runs runs,
                       const HardwareSettings& planned_for)
    : list_(list), device_(device), queue_(*device.CreateQueue(false)) {
  const bool in_launch_batch = runs == Runs::kInSequence;
  const codegen::Dialect dialect =
      opencl::DialectOf(in_launch_batch ? planned_for : TestSettings());
  std::vector<loop::Kernel> kernels = list.kernels;
  for (loop::Kernel& kernel : kernels) kernel.in_launch_batch = in_launch_batch;
  codegen::ProgramText text = codegen::WriteProgramParts(kernels, dialect);
  hal::ExecutableSource source;
  source.uses_megakernel = in_launch_batch;
  source.format = dialect.format;
  source.options = dialect.compiler_options;
  source.prologue = std::move(text.prologue);
  for (size_t k = 0; k < list.kernels.size(); ++k) {
    source.kernels.push_back({list.kernels[k].name, std::move(text.kernels[k]), in_launch_batch});
  }
  executable_ = *device.Compile(source);
  for (const compiler::BufferInfo& buffer : list.buffers) {
    buffers_.push_back(*device.Allocate(std::max<int64_t>(buffer.bytes, 16)));
  }
}

HostTensor ListRunner::Run(const std::vector<HostTensor>& inputs) { return RunAll(inputs)[0]; }

std::vector<HostTensor> ListRunner::RunAll(const std::vector<HostTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(queue_->Write(buffers_[list_.inputs[i]], 0, inputs[i].bytes()).ok());
  }
  for (const auto* steps : {&list_.setup, &list_.steps}) {
    for (const compiler::Step& step : *steps) Do(step);
    RunLaunches();
  }
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < list_.outputs.size(); ++o) {
    std::vector<uint8_t> bytes(list_.output_shapes[o].byte_size());
    EXPECT_TRUE(queue_->Read(buffers_[list_.outputs[o]], 0, absl::MakeSpan(bytes)).ok());
    outputs.emplace_back(list_.output_shapes[o], bytes);
  }
  return outputs;
}

void ListRunner::Do(const compiler::Step& step) {
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

void ListRunner::Launch(const compiler::LaunchStep& step) {
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

void ListRunner::RunLaunches() {
  if (launches_.empty()) return;
  const hal::BufferPtr spare = *device_.Allocate(16);
  launches_.push_back(hal::Launch::Copy(launches_[0].arguments[0], 0, spare, 0, 4));
  const auto recording = device_.Record(executable_, launches_);
  ASSERT_TRUE(recording.ok()) << recording.status();
  const absl::Status replayed = queue_->Replay(*recording);
  EXPECT_TRUE(replayed.ok()) << replayed;
  launches_.clear();
}

}  // namespace tartan::evaluator
