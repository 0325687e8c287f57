// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/stored_program.h"

#include <algorithm>
#include <utility>

#include "proto/program.pb.h"
#include "tile/base/match.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferInfo;
using compiler::BufferKind;
using compiler::CopyStep;
using compiler::FillStep;
using compiler::KernelList;
using compiler::LaunchStep;
using compiler::Step;

// Limit on the sizes of a launch, to reject corrupt data.
constexpr int kMaxSizes = 1 << 16;

void SetShape(const TensorShape& shape, proto::TensorShape* stored) {
  stored->set_type(static_cast<proto::DataType>(shape.type));
  for (int64_t dim : shape.dims) stored->add_dims(dim);
}

TensorShape ShapeOf(const proto::TensorShape& stored) {
  TensorShape shape;
  shape.type = static_cast<DataType>(stored.type());
  shape.dims.assign(stored.dims().begin(), stored.dims().end());
  return shape;
}

void SetStep(const Step& step, proto::StoredProgram::Step* stored) {
  Match(
      step,
      [&](const LaunchStep& launch) {
        proto::StoredProgram::Launch* to = stored->mutable_launch();
        to->set_kernel(launch.kernel);
        for (int buffer : launch.buffers) to->add_buffers(buffer);
        to->set_description(launch.description);
        to->set_flops(launch.flops);
        to->set_bytes(launch.bytes);
        if (launch.sizes.empty()) return;
        for (int64_t size : launch.sizes) to->add_sizes(size);
        for (int64_t size : launch.global_size) to->add_global_size(size);
      },
      [&](const FillStep& fill) {
        stored->mutable_fill()->set_buffer(fill.buffer);
        stored->mutable_fill()->set_type(static_cast<proto::DataType>(fill.type));
        stored->mutable_fill()->set_value(fill.value);
      },
      [&](const CopyStep& copy) {
        stored->mutable_copy()->set_from(copy.from);
        stored->mutable_copy()->set_to(copy.to);
      });
}

Step StepOf(const proto::StoredProgram::Step& stored) {
  if (stored.has_fill()) {
    return FillStep{stored.fill().buffer(), static_cast<DataType>(stored.fill().type()),
                    stored.fill().value()};
  }
  if (stored.has_copy()) return CopyStep{stored.copy().from(), stored.copy().to()};
  LaunchStep launch;
  launch.kernel = stored.launch().kernel();
  launch.buffers.assign(stored.launch().buffers().begin(), stored.launch().buffers().end());
  launch.description = stored.launch().description();
  launch.flops = stored.launch().flops();
  launch.bytes = stored.launch().bytes();
  launch.sizes.assign(stored.launch().sizes().begin(), stored.launch().sizes().end());
  if (stored.launch().global_size_size() == 3) {
    std::copy_n(stored.launch().global_size().begin(), 3, launch.global_size.begin());
  }
  return launch;
}

// Returns whether every reference to a kernel or a buffer is in range.
bool IsWhole(const KernelList& list) {
  const auto is_buffer = [&](int buffer) {
    return buffer >= 0 && buffer < static_cast<int>(list.buffers.size());
  };
  const auto is_step = [&](const Step& step) {
    return Match(
        step,
        [&](const LaunchStep& launch) {
          return launch.kernel >= 0 && launch.kernel < static_cast<int>(list.kernels.size()) &&
                 launch.buffers.size() == list.kernels[launch.kernel].parameters.size() &&
                 launch.sizes.size() == list.kernels[launch.kernel].sizes.size() &&
                 std::all_of(launch.buffers.begin(), launch.buffers.end(), is_buffer);
        },
        [&](const FillStep& fill) { return is_buffer(fill.buffer); },
        [&](const CopyStep& copy) { return is_buffer(copy.from) && is_buffer(copy.to); });
  };
  const auto is_info = [&](const BufferInfo& info) {
    if (info.base == -1) return true;
    if (!is_buffer(info.base) || list.buffers[info.base].base != -1) return false;
    return info.offset >= 0 && info.bytes >= 0 &&
           info.offset <= list.buffers[info.base].bytes - info.bytes;
  };
  const auto is_report = [&](int buffer) { return buffer == -1 || is_buffer(buffer); };
  return list.outputs.size() == list.output_shapes.size() && is_report(list.bounds_reports.setup) &&
         is_report(list.bounds_reports.run) &&
         std::all_of(list.buffers.begin(), list.buffers.end(), is_info) &&
         std::all_of(list.setup.begin(), list.setup.end(), is_step) &&
         std::all_of(list.steps.begin(), list.steps.end(), is_step) &&
         std::all_of(list.inputs.begin(), list.inputs.end(), is_buffer) &&
         std::all_of(list.outputs.begin(), list.outputs.end(), is_buffer);
}

}  // namespace

bool JoinsLaunchBatches(const KernelList& list) {
  return std::all_of(list.kernels.begin(), list.kernels.end(),
                     [](const loop::Kernel& kernel) { return kernel.sizes.empty(); });
}

std::string SerializeProgram(const ProgramSource& program) {
  const KernelList& list = program.list;
  proto::StoredProgram stored;
  stored.set_name(list.name);
  stored.set_prologue(program.source.prologue);
  stored.set_uses_megakernel(program.source.uses_megakernel);
  for (size_t k = 0; k < list.kernels.size(); ++k) {
    proto::StoredProgram::Kernel* kernel = stored.add_kernels();
    kernel->set_name(list.kernels[k].name);
    kernel->set_source(program.source.kernels[k].source);
    for (int64_t size : list.kernels[k].local_size) kernel->add_local_size(size);
    for (int64_t size : list.kernels[k].global_size) kernel->add_global_size(size);
    for (const loop::Parameter& parameter : list.kernels[k].parameters) {
      kernel->add_is_output(parameter.is_output);
    }
    kernel->set_sizes(static_cast<int>(list.kernels[k].sizes.size()));
    kernel->set_size_bytes(static_cast<int>(ByteWidth(list.kernels[k].index_type)));
    kernel->set_in_launch_batch(program.source.kernels[k].in_launch_batch);
    for (int argument : program.source.kernels[k].kept) kernel->add_kept(argument);
  }
  for (const BufferInfo& info : list.buffers) {
    proto::StoredProgram::Buffer* buffer = stored.add_buffers();
    buffer->set_name(info.name);
    buffer->set_kind(static_cast<int>(info.kind));
    SetShape(info.shape, buffer->mutable_shape());
    buffer->set_bytes(info.bytes);
    buffer->set_base(info.base + 1);
    buffer->set_offset(info.offset);
  }
  for (const Step& step : list.setup) SetStep(step, stored.add_setup());
  for (const Step& step : list.steps) SetStep(step, stored.add_steps());
  for (int input : list.inputs) stored.add_inputs(input);
  for (int output : list.outputs) stored.add_outputs(output);
  for (const TensorShape& shape : list.output_shapes) SetShape(shape, stored.add_output_shapes());
  stored.set_recomputed_steps(list.recomputed.steps);
  stored.set_recomputed_us(list.recomputed.us);
  stored.set_recomputed_bytes(list.recomputed.saved_bytes);
  stored.set_setup_bounds_report(list.bounds_reports.setup + 1);
  stored.set_run_bounds_report(list.bounds_reports.run + 1);
  return stored.SerializeAsString();
}

std::optional<ProgramSource> ParseProgram(absl::string_view bytes) {
  proto::StoredProgram stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  ProgramSource program;
  KernelList& list = program.list;
  list.name = stored.name();
  program.source.prologue = stored.prologue();
  for (const proto::StoredProgram::Kernel& from : stored.kernels()) {
    if (from.local_size_size() != 3 || from.global_size_size() != 3) return std::nullopt;
    loop::Kernel kernel;
    kernel.name = from.name();
    std::copy_n(from.local_size().begin(), 3, kernel.local_size);
    std::copy_n(from.global_size().begin(), 3, kernel.global_size);
    for (bool is_output : from.is_output()) {
      kernel.parameters.push_back({"", DataType::kInvalid, is_output});
    }
    if (from.sizes() < 0 || from.sizes() > kMaxSizes) return std::nullopt;
    kernel.sizes.resize(static_cast<size_t>(from.sizes()));
    kernel.index_type = from.size_bytes() == 8 ? DataType::kInt64 : DataType::kInt32;
    kernel.in_launch_batch = from.in_launch_batch();
    for (int argument : from.kept()) {
      if (argument < 0 || argument >= from.is_output_size()) return std::nullopt;
    }
    program.source.kernels.push_back({from.name(),
                                      from.source(),
                                      from.in_launch_batch(),
                                      {from.kept().begin(), from.kept().end()}});
    list.kernels.push_back(std::move(kernel));
  }
  for (const proto::StoredProgram::Buffer& buffer : stored.buffers()) {
    list.buffers.push_back({buffer.name(), static_cast<BufferKind>(buffer.kind()),
                            ShapeOf(buffer.shape()), buffer.bytes(), buffer.base() - 1,
                            buffer.offset()});
  }
  for (const proto::StoredProgram::Step& step : stored.setup()) list.setup.push_back(StepOf(step));
  for (const proto::StoredProgram::Step& step : stored.steps()) list.steps.push_back(StepOf(step));
  list.inputs.assign(stored.inputs().begin(), stored.inputs().end());
  list.outputs.assign(stored.outputs().begin(), stored.outputs().end());
  for (const proto::TensorShape& shape : stored.output_shapes()) {
    list.output_shapes.push_back(ShapeOf(shape));
  }
  list.recomputed = {stored.recomputed_steps(), stored.recomputed_us(), stored.recomputed_bytes()};
  list.bounds_reports = {stored.setup_bounds_report() - 1, stored.run_bounds_report() - 1};
  if (!IsWhole(list)) return std::nullopt;
  program.source.uses_megakernel = stored.uses_megakernel();
  program.source.joins_launch_batches = program.source.uses_megakernel || JoinsLaunchBatches(list);
  return program;
}

}  // namespace tartan::evaluator
