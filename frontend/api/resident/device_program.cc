// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/device_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/checks/input_check.h"
#include "frontend/api/composer.h"
#include "frontend/api/resident/device_queue.h"
#include "frontend/api/tensor_node.h"
#include "frontend/api/tiers/compare_kernels.h"
#include "frontend/api/tiers/compile_in_processes.h"
#include "frontend/api/tiers/idle_time.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/memory/recompute.h"
#include "tile/evaluator/bound_run.h"
#include "tile/evaluator/compile_kernels.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {
namespace {

absl::Status CheckPlaceholder(const Tensor& tensor, absl::string_view what) {
  if (tensor.defined() && tensor.is_placeholder()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, tensor.defined() ? absl::StrCat(" '", tensor.node()->name, "'") : "",
                   " is not a placeholder"));
}

absl::Status CheckState(const ProgramState& state) {
  TARTAN_RETURN_IF_ERROR(CheckPlaceholder(state.input, "the state"));
  if (!state.next.defined() || state.next.shape() == state.input.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the state '", state.input.node()->name, "' is ", state.input.shape().ToString(),
                   ", but its next value is ", state.next.shape().ToString()));
}

absl::Status CheckDependences(absl::Span<const Tensor> placeholders,
                              absl::Span<const Tensor> results) {
  for (const Tensor& result : results) {
    for (const Tensor& needed : PlaceholdersOf(result)) {
      if (std::find(placeholders.begin(), placeholders.end(), needed) != placeholders.end())
        continue;
      return absl::InvalidArgumentError(absl::StrCat("a result depends on '", needed.node()->name,
                                                     "', which is neither an input nor a state"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(absl::Span<const Tensor> inputs, absl::Span<const ProgramState> states) {
  for (const Tensor& input : inputs) TARTAN_RETURN_IF_ERROR(CheckPlaceholder(input, "the input"));
  for (const ProgramState& state : states) TARTAN_RETURN_IF_ERROR(CheckState(state));
  return absl::OkStatus();
}

// The outputs, followed by the next states.
std::vector<Tensor> ResultsOf(absl::Span<const Tensor> outputs,
                              absl::Span<const ProgramState> states) {
  std::vector<Tensor> results(outputs.begin(), outputs.end());
  for (const ProgramState& state : states) {
    if (state.next.defined()) results.push_back(state.next);
  }
  return results;
}

// Composes one program whose last inputs are the states.
absl::StatusOr<ComposedProgram> ComposeWithStates(absl::Span<const Tensor> inputs,
                                                  absl::Span<const ProgramState> states,
                                                  absl::Span<const Tensor> outputs,
                                                  absl::string_view name) {
  std::vector<Tensor> placeholders(inputs.begin(), inputs.end());
  for (const ProgramState& state : states) placeholders.push_back(state.input);
  const std::vector<Tensor> results = ResultsOf(outputs, states);
  TARTAN_RETURN_IF_ERROR(CheckDependences(placeholders, results));
  TARTAN_ASSIGN_OR_RETURN(ComposedProgram composed, Compose(placeholders, results, name));
  auto next = static_cast<int>(outputs.size());
  for (size_t s = 0; s < states.size(); ++s) {
    proto::Program::Input* input =
        composed.program.mutable_inputs(static_cast<int>(inputs.size() + s));
    input->set_is_state(true);
    if (states[s].next.defined()) input->set_next(++next);
  }
  return composed;
}

}  // namespace

struct DeviceProgram::Impl {
  std::shared_ptr<const Device> device;
  std::shared_ptr<DeviceQueue> queue;
  std::vector<Tensor> inputs;
  std::vector<ProgramState> states;
  size_t output_count = 0;
  std::vector<InputCheck> checks;
  std::shared_ptr<evaluator::LoadedProgram> loaded;
  std::vector<DeviceTensor> bound;
  std::unique_ptr<evaluator::BoundRun> run;

  // The shape as stored on the device, which may compute all floats in float64.
  TensorShape Stored(const TensorShape& shape) const {
    const bool is_wide = device->in_float64() && IsFloat(shape.type);
    return {is_wide ? DataType::kFloat64 : shape.type, shape.dims};
  }
  HostTensor Stored(const HostTensor& value) const {
    return device->in_float64() ? ir::InFloat64(value) : value;
  }
  // Checks and converts the inputs of a run.
  absl::StatusOr<std::vector<HostTensor>> Prepared(absl::Span<const HostTensor> values) const;
  // Composes and compiles the program, and copies constants to the device.
  absl::Status Load(absl::Span<const Tensor> outputs, absl::string_view name,
                    RunStatistics* statistics, CompileWhere where, evaluator::ResidentPool* pool);
  // Returns the compiled program from the cache, or compiles it as `where` says.
  absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> Compile(
      const ComposedProgram& composed, CompileWhere where) const;
};

absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> DeviceProgram::Impl::Compile(
    const ComposedProgram& composed, CompileWhere where) const {
  const proto::Program& program = composed.program;
  if (where == CompileWhere::kCachedOnly) {
    auto found = device->FindCompiled(program);
    if (found == nullptr) return absl::NotFoundError("the program is not compiled");
    return found;
  }
  if (where == CompileWhere::kSeparateProcess) {
    // A compilation that has started always completes: process exit waits for it. Otherwise short
    // processes would never get exact (shape-specialised) kernels.
    TARTAN_RETURN_IF_ERROR(CompileInProcesses(*device, program, [] {
      IdleTime::OfProcess().MayWork();  // stops and continues the compiler
      return true;
    }));
  }
  return device->Compile(program, composed.tree.get());
}

absl::Status DeviceProgram::Impl::Load(absl::Span<const Tensor> outputs, absl::string_view name,
                                       RunStatistics* statistics, CompileWhere where,
                                       evaluator::ResidentPool* pool) {
  const auto start_composing = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed,
                          ComposeWithStates(inputs, states, outputs, name));
  for (const CheckedTensor& checked : ChecksOf(ResultsOf(outputs, states))) {
    TARTAN_ASSIGN_OR_RETURN(std::optional<InputCheck> check, InputCheck::Make(checked, inputs));
    if (check.has_value()) checks.push_back(*std::move(check));
  }
  TARTAN_ASSIGN_OR_RETURN(const auto compiled, Compile(composed, where));
  TARTAN_RETURN_IF_ERROR(evaluator::CompileKernels(*compiled));
  statistics->compile_ms += MillisecondsSince(start_composing);
  for (const hal::ExecutablePtr& executable : compiled->executables()) {
    statistics->cache_hits += executable->statistics().cache_hits;
    statistics->cache_misses += executable->statistics().cache_misses;
  }
  const auto start_loading = Clock::now();
  std::vector<HostTensor> constants;
  for (const Tensor& input : composed.inputs) {
    if (input.constant() != nullptr) constants.push_back(Stored(*input.constant()));
  }
  TARTAN_ASSIGN_OR_RETURN(loaded, evaluator::LoadedProgram::Load(compiled, constants, pool));
  statistics->setup_ms += MillisecondsSince(start_loading);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Impl::Prepared(
    absl::Span<const HostTensor> values) const {
  if (run == nullptr) {
    return absl::FailedPreconditionError("the program is not bound to its states");
  }
  for (const InputCheck& check : checks) TARTAN_RETURN_IF_ERROR(check.Run(values));
  std::vector<HostTensor> stored;
  stored.reserve(values.size());
  for (const HostTensor& value : values) stored.push_back(Stored(value));
  return stored;
}

DeviceProgram::DeviceProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Waits for the queue, because queued commands may need the memory of the last run.
DeviceProgram::~DeviceProgram() { (void)impl_->queue->Finish(); }

absl::StatusOr<std::unique_ptr<DeviceProgram>> DeviceProgram::Create(
    std::shared_ptr<const Device> device, std::vector<Tensor> inputs,
    std::vector<ProgramState> states, std::vector<Tensor> outputs, absl::string_view name,
    RunStatistics* statistics, CompileWhere where, evaluator::ResidentPool* pool) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<DeviceProgram>> {
    TARTAN_RETURN_IF_ERROR(CheckTensors(inputs, states));
    RunStatistics ignored;
    auto impl = std::make_unique<Impl>();
    impl->device = std::move(device);
    impl->queue = impl->device->queue();
    impl->inputs = std::move(inputs);
    impl->states = std::move(states);
    impl->output_count = outputs.size();
    TARTAN_RETURN_IF_ERROR(
        impl->Load(outputs, name, statistics == nullptr ? &ignored : statistics, where, pool));
    return std::unique_ptr<DeviceProgram>(new DeviceProgram(std::move(impl)));
  });
}

absl::Status DeviceProgram::Compile(std::shared_ptr<const Device> device,
                                    std::vector<Tensor> inputs, std::vector<ProgramState> states,
                                    std::vector<Tensor> outputs, absl::string_view name,
                                    CompileWhere where) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TARTAN_RETURN_IF_ERROR(CheckTensors(inputs, states));
    TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed,
                            ComposeWithStates(inputs, states, outputs, name));
    Impl impl;
    impl.device = std::move(device);
    TARTAN_ASSIGN_OR_RETURN(const auto compiled, impl.Compile(composed, where));
    return evaluator::CompileKernels(*compiled);
  });
}

absl::StatusOr<evaluator::PlannedProgram> DeviceProgram::Plan(const Device& device,
                                                              std::vector<Tensor> inputs,
                                                              std::vector<ProgramState> states,
                                                              std::vector<Tensor> outputs,
                                                              absl::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<evaluator::PlannedProgram> {
    TARTAN_RETURN_IF_ERROR(CheckTensors(inputs, states));
    TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed,
                            ComposeWithStates(inputs, states, outputs, name));
    return device.Plan(composed.program);
  });
}

int64_t SharedScratch::bytes() const {
  int64_t bytes = 0;
  for (const hal::BufferPtr& piece : pieces) bytes += piece->size();
  return bytes;
}

absl::Status DeviceProgram::Bind(std::vector<DeviceTensor> states, SharedScratch* scratch) {
  if (states.size() != impl_->states.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program has ", impl_->states.size(), " states, not ", states.size()));
  }
  std::vector<hal::BufferPtr> buffers;
  for (size_t s = 0; s < states.size(); ++s) {
    const Tensor& input = impl_->states[s].input;
    const TensorShape shape = impl_->Stored(input.shape());
    if (!states[s].defined() || states[s].shape() != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("the state '", input.node()->name, "' is ", shape.ToString(), ", not ",
                       states[s].defined() ? states[s].shape().ToString() : "undefined"));
    }
    buffers.push_back(states[s].buffer());
  }
  TARTAN_RETURN_IF_ERROR(impl_->queue->Finish());
  impl_->run = nullptr;  // frees memory that may be needed
  TARTAN_ASSIGN_OR_RETURN(
      impl_->run, evaluator::BoundRun::Create(impl_->loaded, buffers,
                                              scratch == nullptr ? nullptr : &scratch->pieces));
  impl_->bound = std::move(states);
  return absl::OkStatus();
}

absl::Status DeviceProgram::Unbind() {
  TARTAN_RETURN_IF_ERROR(impl_->queue->Finish());
  impl_->run = nullptr;
  return absl::OkStatus();
}

absl::Status DeviceProgram::Start(absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored, impl_->Prepared(inputs));
  return impl_->queue->Enqueue(
      [&](hal::Queue& queue) -> absl::Status {
        TARTAN_RETURN_IF_ERROR(impl_->run->Enqueue(queue, stored));
        return queue.Flush();
      },
      stored);
}

absl::StatusOr<std::vector<KernelProfile>> DeviceProgram::Profile(
    absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored, impl_->Prepared(inputs));
  TARTAN_RETURN_IF_ERROR(impl_->queue->Finish());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<evaluator::KernelTime> times,
                          impl_->run->Profile(stored));
  std::vector<KernelProfile> profile;
  for (const evaluator::KernelTime& time : times)
    profile.push_back({time.kernel, time.description, time.ms, time.flops, time.bytes});
  return profile;
}

absl::StatusOr<std::vector<HostTensor>> PendingOutputs::Wait() const {
  TARTAN_RETURN_IF_ERROR(read_->Wait());
  return outputs_;
}

absl::StatusOr<PendingOutputs> DeviceProgram::OutputsAsync() {
  if (impl_->run == nullptr) {
    return absl::FailedPreconditionError("the program is not bound to its states");
  }
  PendingOutputs coming;
  const absl::Status status = impl_->queue->Enqueue([&](hal::Queue& queue) -> absl::Status {
    for (size_t o = 0; o < impl_->output_count; ++o) {
      TARTAN_ASSIGN_OR_RETURN(coming.outputs_.emplace_back(), impl_->run->ReadAsync(queue, o));
    }
    return absl::OkStatus();
  });
  if (!status.ok()) {
    // Queued reads write to this function's local memory, so wait for them.
    TARTAN_RETURN_IF_ERROR(Finish());
    return status;
  }
  TARTAN_RETURN_IF_ERROR(
      impl_->queue->Enqueue([](hal::Queue&) { return absl::OkStatus(); }, coming.outputs_));
  TARTAN_ASSIGN_OR_RETURN(coming.read_, impl_->queue->Mark());
  return coming;
}

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Outputs() {
  absl::StatusOr<PendingOutputs> coming = OutputsAsync();
  // Finish also after a failed read: the failure of the runs is the more useful error.
  TARTAN_RETURN_IF_ERROR(Finish());
  TARTAN_RETURN_IF_ERROR(coming.status());
  return coming->Wait();
}

absl::Status DeviceProgram::Finish() { return impl_->queue->Finish(); }

absl::Status DeviceProgram::CompareWithReady(DeviceProgram& ready,
                                             absl::Span<const HostTensor> inputs) {
  if (!ComparesKernels()) return absl::OkStatus();
  std::vector<DeviceTensor> states = impl_->bound;
  const auto values = [&]() -> absl::StatusOr<std::vector<HostTensor>> {
    std::vector<HostTensor> result;
    for (const DeviceTensor& state : states) {
      TARTAN_ASSIGN_OR_RETURN(result.emplace_back(), state.ToHost());
    }
    return result;
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> before, values());
  const auto results = [&](DeviceProgram& program) -> absl::StatusOr<std::vector<HostTensor>> {
    TARTAN_RETURN_IF_ERROR(program.Start(inputs));
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> found, program.Outputs());
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> next, values());
    found.insert(found.end(), next.begin(), next.end());
    for (size_t s = 0; s < states.size(); ++s) {
      TARTAN_RETURN_IF_ERROR(states[s].Assign(before[s]));
    }
    return found;
  };
  TARTAN_RETURN_IF_ERROR(ready.Bind(states));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> expected, results(ready));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> found, results(*this));
  return CompareKernels(expected, found, SwapTolerance(*impl_->device));
}

ProgramMemory DeviceProgram::memory(std::optional<size_t> turn) const {
  ProgramMemory memory;
  for (const ProgramState& state : impl_->states)
    memory.states += impl_->Stored(state.input.shape()).byte_size();
  const evaluator::CompiledProgram& program = impl_->loaded->program();
  const int64_t unit = program.device()->info().buffer_alignment;
  for (const int buffer : program.resident()) {
    const int64_t bytes = program.list().buffers[buffer].bytes;
    memory.constants +=
        program.IsSeparate(buffer) ? bytes : std::max<int64_t>(1, (bytes + unit - 1) / unit) * unit;
  }
  memory.scratch = program.frame().plan.total_bytes();
  const auto state = turn.has_value() ? static_cast<int>(impl_->inputs.size() + *turn) : -1;
  const compiler::MemoryUse use = compiler::UseAtPeak(program.list(), state);
  memory.inputs = use.inputs;
  memory.kept = use.kept;
  memory.peak = compiler::ResidentBytes(program.list()) + use.inputs + use.kept + use.other;
  memory.recomputed = program.list().recomputed;
  return memory;
}

const evaluator::CompiledProgram& DeviceProgram::compiled() const {
  return impl_->loaded->program();
}

int64_t DeviceProgram::kernels() const { return impl_->loaded->program().launches_per_run(); }

}  // namespace tartan::api
