// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/device_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/checks/input_check.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/session.h"
#include "frontend/api/tensor_node.h"
#include "frontend/api/tiers/compare_kernels.h"
#include "frontend/api/tiers/compile_in_processes.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/memory/recompute.h"
#include "tile/evaluator/bound_run.h"
#include "tile/evaluator/compile_kernels.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {
namespace {

absl::Status NotBound() {
  return absl::FailedPreconditionError("the program is not bound to its states");
}

}  // namespace

struct DeviceProgram::Impl {
  std::shared_ptr<const Device> device;
  bool in_float64 = false;
  std::shared_ptr<DeviceQueue> queue;
  std::vector<Tensor> inputs;
  std::vector<ProgramState> states;
  size_t output_count = 0;
  std::vector<InputCheck> checks;
  std::shared_ptr<TieredProgram> program;
  std::vector<DeviceTensor> bound;
  SharedScratch* scratch = nullptr;
  std::vector<evaluator::StateGroup> watched;
  evaluator::StateHooks hooks;                       // for these groups
  std::shared_ptr<evaluator::LoadedProgram> loaded;  // the kernels of `run`
  std::unique_ptr<evaluator::BoundRun> run;

  // The shape as stored on the device, which may compute all floats in float64.
  TensorShape Stored(const TensorShape& shape) const {
    const bool is_wide = in_float64 && IsFloat(shape.type);
    return {is_wide ? DataType::kFloat64 : shape.type, shape.dims};
  }
  HostTensor Stored(const HostTensor& value) const {
    return in_float64 ? ir::InFloat64(value) : value;
  }
  // Checks and converts the inputs of a run. Begins to use exact kernels if there are any now.
  absl::StatusOr<std::vector<HostTensor>> Prepared(absl::Span<const HostTensor> values,
                                                   RunStatistics* statistics);
  // Composes and compiles the program, and copies constants to the device.
  absl::Status Load(LoadedPrograms& programs, const ProgramGraph& graph, RunStatistics* statistics,
                    CompileWhere where);
  absl::StatusOr<std::unique_ptr<evaluator::BoundRun>> BindTo(
      std::shared_ptr<evaluator::LoadedProgram> kernels);
  absl::Status Use(std::shared_ptr<evaluator::LoadedProgram> kernels);
  absl::Status Start(evaluator::BoundRun& of, absl::Span<const HostTensor> stored,
                     bool may_defer = false) const;
  absl::StatusOr<PendingOutputs> OutputsAsync(evaluator::BoundRun& of) const;
  absl::StatusOr<std::vector<HostTensor>> Outputs(evaluator::BoundRun& of) const;
  absl::StatusOr<std::vector<KernelProfile>> Profile(absl::Span<const HostTensor> stored) const;
  // Runs `ready` and `run` from the current states, then restores the states.
  absl::Status Compare(evaluator::BoundRun& ready, absl::Span<const HostTensor> stored);
};

absl::Status DeviceProgram::Impl::Load(LoadedPrograms& programs, const ProgramGraph& graph,
                                       RunStatistics* statistics, CompileWhere where) {
  std::optional<Background::Pause> pause;
  if (where != CompileWhere::kSeparateProcess) pause.emplace();
  const auto start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(graph));
  for (const CheckedTensor& checked : ChecksOf(ResultsOf(graph))) {
    TARTAN_ASSIGN_OR_RETURN(std::optional<InputCheck> check, InputCheck::Make(checked, inputs));
    if (check.has_value()) checks.push_back(*std::move(check));
  }
  if (where == CompileWhere::kCachedOnly && device->FindCompiled(composed.program) == nullptr) {
    return absl::NotFoundError("the program is not compiled");
  }
  if (where == CompileWhere::kSeparateProcess) {
    TARTAN_RETURN_IF_ERROR(CompileSeparately(*device, composed.program));
  }
  statistics->compile_ms += MillisecondsSince(start);
  const bool is_cpu = device->info().type == hal::DeviceType::kCpu;
  const int64_t times = where == CompileWhere::kSoonest && is_cpu ? 1 : 0;
  TARTAN_ASSIGN_OR_RETURN(program, programs.Load(composed, statistics, times));
  loaded = program->loaded();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Impl::Prepared(
    absl::Span<const HostTensor> values, RunStatistics* statistics) {
  if (run == nullptr) return NotBound();
  for (const InputCheck& check : checks) TARTAN_RETURN_IF_ERROR(check.Run(values));
  std::vector<HostTensor> stored;
  stored.reserve(values.size());
  for (const HostTensor& value : values) stored.push_back(Stored(value));
  std::shared_ptr<evaluator::LoadedProgram> current = program->BeginRun(statistics);
  if (current != loaded) TARTAN_RETURN_IF_ERROR(Use(std::move(current)));
  if (const auto replaced = program->TakeReplaced(*loaded)) {
    TARTAN_ASSIGN_OR_RETURN(const auto ready, BindTo(replaced));
    TARTAN_RETURN_IF_ERROR(Compare(*ready, stored));
  }
  return stored;
}

DeviceProgram::DeviceProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Waits for the queue, because queued commands may need the memory of the last run.
DeviceProgram::~DeviceProgram() { (void)impl_->queue->Finish(); }

absl::StatusOr<std::unique_ptr<DeviceProgram>> DeviceProgram::Create(
    std::shared_ptr<const Device> device, ProgramGraph graph, RunStatistics* statistics,
    CompileWhere where) {
  if (where == CompileWhere::kSoonest) {
    SessionOptions options;
    constexpr int64_t kLarge = int64_t{64} << 20;  // bytes; empirical
    options.host_ms = 2000;                        // better than compiling kernels first
    // A GPU's dynamic-shape kernels of a large network compile no sooner, and run for seconds.
    const bool is_gpu = device->info().type == hal::DeviceType::kGpu;
    if (is_gpu && InputBytes(graph) >= kLarge) options.tier = Tier::kExact;
    LoadedPrograms soonest(*device, options, /*completes_compilations=*/false);
    return Create(soonest, std::move(graph), statistics, where);
  }
  LoadedPrograms alone(std::move(device));
  return Create(alone, std::move(graph), statistics, where);
}

absl::StatusOr<std::unique_ptr<DeviceProgram>> DeviceProgram::Create(LoadedPrograms& loaded,
                                                                     ProgramGraph graph,
                                                                     RunStatistics* statistics,
                                                                     CompileWhere where) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<DeviceProgram>> {
    RunStatistics ignored;
    auto impl = std::make_unique<Impl>();
    impl->device = loaded.device();
    impl->in_float64 = impl->device->in_float64();
    impl->queue = impl->device->queue();
    impl->inputs = graph.inputs;
    impl->states = graph.states;
    impl->output_count = graph.outputs.size();
    TARTAN_RETURN_IF_ERROR(
        impl->Load(loaded, graph, statistics == nullptr ? &ignored : statistics, where));
    return std::unique_ptr<DeviceProgram>(new DeviceProgram(std::move(impl)));
  });
}

void CompileExactLater(std::shared_ptr<const Device> device,
                       std::function<absl::StatusOr<ProgramGraph>()> make,
                       std::function<void()> then) {
  // Lower than the urgency of kernels that runs are waiting for.
  const auto urgency = [] { return 0.5; };
  const auto compile = [device = device->WithTier(compiler::Tier::kExact),
                        make = std::move(make)]() -> absl::Status {
    TARTAN_ASSIGN_OR_RETURN(const ProgramGraph graph, make());
    TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(graph));
    TARTAN_RETURN_IF_ERROR(CompileSeparately(*device, composed.program));
    TARTAN_ASSIGN_OR_RETURN(const auto compiled, device->Compile(composed.program));
    return evaluator::CompileKernels(*compiled);
  };
  Background::OfProcess().Add(
      {urgency, [compile, then = std::move(then)](const Background::ContinueCallback&) {
         if (CatchOutOfMemory(compile).ok()) then();
       }});
}

absl::Status DeviceProgram::Bind(std::vector<DeviceTensor> states, SharedScratch* scratch) {
  if (states.size() != impl_->states.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program has ", impl_->states.size(), " states, not ", states.size()));
  }
  for (size_t s = 0; s < states.size(); ++s) {
    const Tensor& input = impl_->states[s].input;
    const TensorShape shape = impl_->Stored(input.shape());
    if (!states[s].defined() || states[s].shape() != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("the state '", input.node()->name, "' is ", shape.ToString(), ", not ",
                       states[s].defined() ? states[s].shape().ToString() : "undefined"));
    }
  }
  impl_->bound = std::move(states);
  impl_->scratch = scratch;
  return impl_->Use(impl_->program->loaded());
}

absl::StatusOr<std::unique_ptr<evaluator::BoundRun>> DeviceProgram::Impl::BindTo(
    std::shared_ptr<evaluator::LoadedProgram> kernels) {
  std::vector<hal::BufferPtr> buffers;
  for (const DeviceTensor& state : bound) buffers.push_back(state.buffer());
  TARTAN_ASSIGN_OR_RETURN(
      auto made, evaluator::BoundRun::Create(std::move(kernels), buffers,
                                             scratch == nullptr ? nullptr : &scratch->pieces));
  if (!watched.empty()) TARTAN_RETURN_IF_ERROR(made->WatchStates(watched, hooks));
  return made;
}

absl::Status DeviceProgram::WatchStates(std::vector<evaluator::StateGroup> groups,
                                        evaluator::StateHooks hooks) {
  if (impl_->run == nullptr) return NotBound();
  impl_->watched = std::move(groups);
  impl_->hooks = std::move(hooks);
  return impl_->run->WatchStates(impl_->watched, impl_->hooks);
}

std::vector<evaluator::StateUse> DeviceProgram::StateUses() const {
  return evaluator::UsesOfStates(impl_->loaded->program());
}

std::vector<hal::EventPtr> DeviceProgram::StateEvents() const {
  return impl_->run == nullptr ? std::vector<hal::EventPtr>() : impl_->run->StateEvents();
}

absl::Status DeviceProgram::Impl::Use(std::shared_ptr<evaluator::LoadedProgram> kernels) {
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  run = nullptr;  // frees memory that may be needed
  loaded = std::move(kernels);
  TARTAN_ASSIGN_OR_RETURN(run, BindTo(loaded));
  return absl::OkStatus();
}

absl::Status DeviceProgram::Unbind() {
  TARTAN_RETURN_IF_ERROR(impl_->queue->Finish());
  impl_->run = nullptr;
  return absl::OkStatus();
}

absl::Status DeviceProgram::Impl::Start(evaluator::BoundRun& of,
                                        absl::Span<const HostTensor> stored, bool may_defer) const {
  return queue->Enqueue(
      [&](hal::Queue& commands) -> absl::Status {
        if (may_defer) TARTAN_RETURN_IF_ERROR(commands.Flush());  // an earlier run begins
        TARTAN_RETURN_IF_ERROR(of.Enqueue(commands, stored));
        may_defer = may_defer && device->info().type == hal::DeviceType::kCpu;
        return may_defer ? absl::OkStatus() : commands.Flush();
      },
      {stored.begin(), stored.end()});
}

absl::Status DeviceProgram::Start(absl::Span<const HostTensor> inputs, bool may_defer) {
  RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored, impl_->Prepared(inputs, &ignored));
  return impl_->Start(*impl_->run, stored, may_defer);
}

absl::StatusOr<std::vector<KernelProfile>> DeviceProgram::Impl::Profile(
    absl::Span<const HostTensor> stored) const {
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  return run->Profile(stored);
}

absl::StatusOr<std::vector<KernelProfile>> DeviceProgram::Profile(
    absl::Span<const HostTensor> inputs) {
  RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored, impl_->Prepared(inputs, &ignored));
  return impl_->Profile(stored);
}

absl::StatusOr<PendingOutputs> DeviceProgram::Impl::OutputsAsync(evaluator::BoundRun& of) const {
  PendingOutputs coming;
  // The next states follow as outputs. A program of the host has no list.
  coming.PinSmallOutputs(
      *device->hal(),
      absl::MakeConstSpan(of.program().list().output_shapes).subspan(0, output_count));
  const absl::Status status = queue->Enqueue([&](hal::Queue& commands) -> absl::Status {
    for (size_t o = 0; o < output_count; ++o) {
      hal::HostMemory memory = coming.pinned_.empty() ? hal::HostMemory() : coming.pinned_[o];
      TARTAN_ASSIGN_OR_RETURN(coming.outputs_.emplace_back(),
                              of.ReadAsync(commands, o, std::move(memory)));
    }
    return absl::OkStatus();
  });
  if (!status.ok()) {
    // Queued reads write to this function's local memory, so wait for them.
    TARTAN_RETURN_IF_ERROR(queue->Finish());
    return status;
  }
  TARTAN_RETURN_IF_ERROR(
      queue->Enqueue([](hal::Queue&) { return absl::OkStatus(); }, coming.outputs_));
  coming.queue_ = queue;
  TARTAN_ASSIGN_OR_RETURN(coming.read_, queue->MarkLater());
  return coming;
}

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Impl::Outputs(
    evaluator::BoundRun& of) const {
  absl::StatusOr<PendingOutputs> coming = OutputsAsync(of);
  TARTAN_RETURN_IF_ERROR(queue->Finish());  // also after a failed read: its error is less useful
  TARTAN_RETURN_IF_ERROR(coming.status());
  return coming->Wait();
}

absl::StatusOr<PendingOutputs> DeviceProgram::OutputsAsync() {
  if (impl_->run == nullptr) return NotBound();
  return impl_->OutputsAsync(*impl_->run);
}

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Outputs() {
  if (impl_->run == nullptr) return NotBound();
  return impl_->Outputs(*impl_->run);
}

void DeviceProgram::UseQueue(std::shared_ptr<DeviceQueue> queue) { impl_->queue = queue; }
absl::Status DeviceProgram::Finish() { return impl_->queue->Finish(); }

absl::StatusOr<std::vector<HostTensor>> DeviceProgram::Run(absl::Span<const HostTensor> inputs,
                                                           RunStatistics* statistics,
                                                           std::vector<KernelProfile>* profile) {
  const auto begin = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored,
                          impl_->Prepared(inputs, statistics));
  statistics->kernels += kernels();
  if (profile != nullptr) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<KernelProfile> times, impl_->Profile(stored));
    profile->insert(profile->end(), times.begin(), times.end());
  } else {
    TARTAN_RETURN_IF_ERROR(impl_->Start(*impl_->run, stored));
  }
  absl::StatusOr<std::vector<HostTensor>> outputs = Outputs();
  impl_->program->EndRun(MillisecondsSince(begin));
  return outputs;
}

absl::Status DeviceProgram::MakeExact() {
  TARTAN_RETURN_IF_ERROR(impl_->program->MakeExact());
  std::shared_ptr<evaluator::LoadedProgram> current = impl_->program->loaded();
  if (current == impl_->loaded) return absl::OkStatus();
  if (impl_->run != nullptr) return impl_->Use(std::move(current));
  impl_->loaded = std::move(current);
  return absl::OkStatus();
}

absl::Status DeviceProgram::Impl::Compare(evaluator::BoundRun& ready,
                                          absl::Span<const HostTensor> stored) {
  const auto values = [&]() -> absl::StatusOr<std::vector<HostTensor>> {
    std::vector<HostTensor> result;
    for (const DeviceTensor& state : bound) {
      TARTAN_ASSIGN_OR_RETURN(result.emplace_back(), state.ToHost());
    }
    return result;
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> before, values());
  const auto results = [&](evaluator::BoundRun& of) -> absl::StatusOr<std::vector<HostTensor>> {
    TARTAN_RETURN_IF_ERROR(Start(of, stored));
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> found, Outputs(of));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> next, values());
    found.insert(found.end(), next.begin(), next.end());
    for (size_t s = 0; s < bound.size(); ++s) TARTAN_RETURN_IF_ERROR(bound[s].Assign(before[s]));
    return found;
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> expected, results(ready));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> found, results(*run));
  return CompareKernels(expected, found, SwapTolerance(*device));
}

absl::Status DeviceProgram::CompareWithReady(DeviceProgram& ready,
                                             absl::Span<const HostTensor> inputs) {
  if (!ComparesKernels()) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(ready.Bind(impl_->bound));
  RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> stored, impl_->Prepared(inputs, &ignored));
  return impl_->Compare(*ready.impl_->run, stored);
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

std::string DeviceProgram::tier() const {
  if (impl_->loaded->program().host() != nullptr) return "host";
  return impl_->program->is_ready() ? "ready" : "exact";
}

int64_t DeviceProgram::kernels() const { return impl_->loaded->program().launches_per_run(); }

}  // namespace tartan::api
