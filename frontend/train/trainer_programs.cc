// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/trainer_programs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/initialize.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

std::string KeyOf(const BatchShapes& shapes) {
  std::string key;
  for (const auto& [name, shape] : shapes.inputs) {
    absl::StrAppend(&key, name, " ", shape.ToString(), ";");
  }
  if (shapes.target.has_value()) absl::StrAppend(&key, shapes.target->ToString());
  return key;
}

namespace {

// Maximum number of compilations of a program with a smaller share of the budget.
constexpr int kMaxAttempts = 3;

// Programs divide the shared scratch differently, so their sub-buffers overlap, which some drivers
// do not support.
// The device for a program whose values are stored like this: factors of 16 bits lose nothing on
// matrix units of their format.
std::shared_ptr<const api::Device> ForStored(Precision stored,
                                             std::shared_ptr<const api::Device> device) {
  switch (stored) {
    case Precision::kBFloat16:
      return device->WithPrecision(tartan::Precision::kBFloat16);
    case Precision::kFloat16:
      return device->WithPrecision(tartan::Precision::kFloat16);
    case Precision::kFloat32:
      break;
  }
  return device;
}

// The device without passes that join launches which depend on each other.
std::shared_ptr<const api::Device> WithSeparateLaunches(
    const std::shared_ptr<const api::Device>& device) {
  compiler::CompileOptions options = device->options();
  options.disabled_passes.insert({"fuse-rows", "fuse-into-consumer", "recompute-in-consumers"});
  return device->With(std::move(options), {});
}

bool MayShareScratch(const api::Device& device) {
  return device.hal()->info().sub_buffers_may_overlap;
}

}  // namespace

HostTensor Converted(const HostTensor& value, const TensorShape& shape) {
  if (value.type() == shape.type) return value.Reshaped(shape.dims);
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    StoreElement(shape.type, value.GetDouble(i), i, bytes.data());
  }
  return HostTensor(shape, bytes);
}

absl::StatusOr<BatchShapes> TrainerPrograms::ShapesOf(const api::NamedTensors& inputs,
                                                      const HostTensor& target) const {
  BatchShapes shapes;
  size_t used = 0;
  for (size_t i = 0; i < model->own_input_count(); ++i) {
    const auto given = inputs.find(model->inputs()[i].name);
    if (given == inputs.end()) continue;
    ++used;
    shapes.inputs.emplace_back(given->first, given->second.shape());
  }
  for (const auto& [name, value] : inputs) {
    if (used == inputs.size()) break;
    const bool is_known =
        std::any_of(shapes.inputs.begin(), shapes.inputs.end(),
                    [&name = name](const auto& input) { return input.first == name; });
    if (!is_known) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no input '", name, "'"));
    }
  }
  if (NeedsTarget(plan.loss)) {
    if (target.type() == DataType::kInvalid) {
      return absl::InvalidArgumentError(absl::StrCat(Name(plan.loss.kind), " needs a target"));
    }
    shapes.target = target.shape();
  }
  return shapes;
}

std::vector<HostTensor> TrainerPrograms::ValuesOf(const BatchShapes& shapes,
                                                  const api::NamedTensors& inputs,
                                                  const HostTensor& target) {
  std::vector<HostTensor> values;
  for (const auto& [name, shape] : shapes.inputs) values.push_back(inputs.at(name));
  if (shapes.target.has_value()) values.push_back(target);
  return values;
}

absl::StatusOr<api::DeviceTensor> TrainerPrograms::MakeState(const StateSpec& spec) {
  TARTAN_ASSIGN_OR_RETURN(const std::optional<HostTensor> first, FirstValue(spec));
  return first.has_value() ? api::DeviceTensor::FromHost(*device, *first)
                           : api::DeviceTensor::Zeros(*device, spec.shape);
}

absl::StatusOr<std::optional<HostTensor>> TrainerPrograms::FirstValue(const StateSpec& spec) {
  if (shards.has_value()) {
    if (std::optional<HostTensor> restored = TakeRestored(spec)) return restored;
  }
  if (spec.name == kScaleName)
    return HostTensor::FromVector(spec.shape, FirstScale(*plan.loss_scale));
  if (!absl::StartsWith(spec.name, kParameterState)) return std::nullopt;
  const std::string name = spec.name.substr(sizeof(kParameterState) - 1);
  for (const Parameter& parameter : parameters) {
    if (parameter.name != name) continue;
    const HostTensor first = options.initialize || parameter.is_factor()
                                 ? InitialValue(parameter, options.seed)
                                 : *model->Initializer(name);
    return Converted(first, spec.shape);
  }
  return absl::InternalError(absl::StrCat("there is no parameter '", name, "'"));
}

absl::StatusOr<TrainerPrograms::Program> TrainerPrograms::Make(StepGraph graph,
                                                               absl::string_view name) {
  Program made;
  made.seeds = graph.seeds;
  if (plan.joins) TARTAN_RETURN_IF_ERROR(plan.shards ? MakeShards() : MakeJoinedSums());
  for (const StateSpec& spec : graph.specs) {
    if (spec.name == kSkipped) made.turn = made.states.size();
    if (shards.has_value() && shards->views.count(spec.name) > 0) {
      made.states.push_back(shards->views.at(spec.name));
      continue;
    }
    if (const auto span = spans.find(spec.name); name == kUpdateName && span != spans.end()) {
      made.states.push_back(span->second);
      continue;
    }
    if (AddToBuckets(spec.name, &made)) continue;
    auto found = tensors.find(spec.name);
    if (found == tensors.end()) {
      TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor tensor, MakeState(spec));
      found = tensors.emplace(spec.name, std::move(tensor)).first;
    }
    made.states.push_back(found->second);
  }
  TARTAN_RETURN_IF_ERROR(Compile(std::move(graph), name, &made));
  if (name == kUpdateName && UpdatesEarly()) {
    made.queue = std::make_shared<api::DeviceQueue>(device->hal());
    made.program->UseQueue(made.queue);
  }
  if (made.HasBuckets()) {
    TARTAN_RETURN_IF_ERROR(FitArenas(made));
    TARTAN_RETURN_IF_ERROR(BindBuckets(&made));
  }
  TARTAN_RETURN_IF_ERROR(Bind(&made));
  return made;
}

absl::Status TrainerPrograms::Compile(StepGraph graph, absl::string_view name, Program* made) {
  // The program's own share of the budget: without memory that only others use.
  int64_t share = options.memory_budget;
  if (share > 0) {
    const TrainingMemory others = Memory();
    share -= others.total() - (MayShareScratch(*device) ? ScratchBytes() : 0);
    for (const api::ProgramState& state : graph.states) share += state.input.shape().byte_size();
    share = std::max<int64_t>(share, 1);
  }
  graph.name = std::string(name);
  std::shared_ptr<const api::Device> used = ForStored(graph.precision, device);
  if (separates_launches) used = WithSeparateLaunches(used);
  for (int attempt = 0;; ++attempt) {
    api::RunStatistics statistics;
    TARTAN_ASSIGN_OR_RETURN(
        made->program, api::DeviceProgram::Create(share > 0 ? used->WithMemoryBudget(share) : used,
                                                  graph, &statistics));
    compile_ms += statistics.compile_ms + statistics.setup_ms;
    if (made->HasBuckets()) PlaceBuckets(made);
    const TrainingMemory memory = Memory(made);
    if (share == 0 || memory.total() <= options.memory_budget) return absl::OkStatus();
    // Gaps between buffers waste memory, so the peak must be smaller.
    const int64_t peak = made->program->memory().peak;
    const int64_t over = memory.total() - options.memory_budget;
    if (peak <= share && peak > over && attempt < kMaxAttempts) {
      share = peak - over;
      continue;
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        "the memory budget of ", options.memory_budget, " bytes is too small: the ", name,
        " needs ", memory.total(), " at least, even with every possible value recomputed (",
        Composition(memory), ")"));
  }
}

std::vector<const TrainerPrograms::Program*> TrainerPrograms::All() const {
  std::vector<const Program*> all;
  for (const auto* programs : {&steps, &evaluations}) {
    for (const auto& [key, program] : *programs) all.push_back(&program);
  }
  all.insert(all.end(), {&norms, &apply});
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Program* program) { return program->program == nullptr; }),
            all.end());
  return all;
}

int64_t TrainerPrograms::ScratchBytes(const Program* more) const {
  const int64_t added = more == nullptr ? 0 : more->program->memory().scratch;
  const bool is_shared = MayShareScratch(*device);
  int64_t bytes = is_shared ? std::max(scratch.bytes(), added) : added;
  for (const Program* program : All()) {
    if (!is_shared || program->queue != nullptr) bytes += program->program->memory().scratch;
  }
  return bytes;
}

TrainingMemory TrainerPrograms::Memory(const Program* more) const {
  TrainingMemory memory;
  for (const auto& [name, tensor] : tensors) {
    (absl::StartsWith(name, kParameterState) ? memory.parameters : memory.state) +=
        tensor.shape().byte_size();
  }
  if (shards.has_value()) {
    const Program none;
    const Program& made = more == nullptr ? none : *more;
    memory.state +=
        shards->gradient_memory.part_bytes() + shards->gradient_buckets.bytes(made.arena.places);
    memory.parameters += shards->parameter_memory.part_bytes() +
                         shards->parameter_buckets.bytes(made.gathers.places);
  }
  std::vector<const Program*> all = All();
  if (more != nullptr) all.push_back(more);
  int64_t most = 0;
  for (const Program* program : all) {
    const api::ProgramMemory used = program->program->memory(program->turn);
    memory.constants += used.constants;
    // Considers steps, which have gradients, and the program being made.
    const bool is_step = std::any_of(steps.begin(), steps.end(),
                                     [&](const auto& step) { return &step.second == program; });
    if ((!is_step && program != more) || used.scratch <= most) continue;
    most = used.scratch;
    memory.batch = used.inputs;
    memory.kept = used.kept;
    memory.recomputed_steps = used.recomputed.steps;
    memory.recomputed_ms = used.recomputed.us / 1000;
    memory.recomputed_bytes = used.recomputed.saved_bytes;
  }
  memory.scratch = ScratchBytes(more) - memory.batch - memory.kept;
  return memory;
}

absl::Status TrainerPrograms::Bind(Program* made) {
  if (!MayShareScratch(*device) || made->queue != nullptr) return made->program->Bind(made->states);
  if (made->program->memory().scratch <= scratch.bytes())
    return made->program->Bind(made->states, &scratch);
  std::vector<Program*> others;
  for (auto* programs : {&steps, &evaluations}) {
    for (auto& [key, program] : *programs) others.push_back(&program);
  }
  others.push_back(&norms);
  if (apply.queue == nullptr) others.push_back(&apply);
  for (const Program* other : others) {
    if (other->program != nullptr) TARTAN_RETURN_IF_ERROR(other->program->Unbind());
  }
  scratch.pieces.clear();
  TARTAN_RETURN_IF_ERROR(made->program->Bind(made->states, &scratch));
  for (const Program* other : others) {
    if (other->program == nullptr) continue;
    TARTAN_RETURN_IF_ERROR(other->program->Bind(other->states, &scratch));
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainerPrograms::Program*> TrainerPrograms::StepFor(const api::NamedTensors& inputs,
                                                                   const HostTensor& target) {
  TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, ShapesOf(inputs, target));
  Program& step = steps[KeyOf(shapes)];
  if (step.program == nullptr) {
    absl::Status made = MakeStep(shapes, &step);
    if (absl::IsUnimplemented(made) && plan.mode.joint_ranks > 0) {
      // A launch of a small network may compute a rank's statistics and read the statistics of all.
      separates_launches = true;
      made = MakeStep(shapes, &step);
      separates_launches = false;
    }
    TARTAN_RETURN_IF_ERROR(made);
  }
  return &step;
}

absl::Status TrainerPrograms::MakeStep(const BatchShapes& shapes, Program* step) {
  TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildStep(*model, &parameters, plan, shapes));
  const std::optional<int64_t> classes = graph.classes;
  const std::vector<StateSpec> specs = graph.specs;
  TARTAN_ASSIGN_OR_RETURN(*step, Make(std::move(graph), "step"));
  step->classes = classes;
  return plan.joins ? WatchBuckets(specs, step) : absl::OkStatus();
}

absl::Status TrainerPrograms::CheckTarget(const Program& program, const HostTensor& target) const {
  return program.classes.has_value() ? CheckClasses(plan.loss, *program.classes, target)
                                     : absl::OkStatus();
}

absl::Status TrainerPrograms::Start(Program& step, const std::vector<HostTensor>& values) {
  if (plan.mode.joint_ranks > 0) TARTAN_RETURN_IF_ERROR(AgreeOnExchanges(&step));
  if (plan.shards) TARTAN_RETURN_IF_ERROR(FinishReductions());
  if (DividesParameters()) return StartWithGathers(step, values);
  if (!options.profile) return step.program->Start(values);
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::KernelProfile> kernels, step.program->Profile(values));
  profile.Add(*step.program, std::move(kernels));
  return absl::OkStatus();
}

absl::Status TrainerPrograms::CountBatch(double rate, const Program* step) {
  ++batches;
  ++unread;
  if (plan.mode.joint_ranks > 0 && step == nullptr)
    TARTAN_RETURN_IF_ERROR(ExchangeWithoutExamples());
  if (PassesGradients() && step == nullptr) {
    TARTAN_RETURN_IF_ERROR(FinishReductions());
    TARTAN_RETURN_IF_ERROR(ReduceWithoutExamples());
  }
  if (batches % options.accumulate != 0) return absl::OkStatus();
  if (plan.accumulates) {
    TARTAN_RETURN_IF_ERROR(Update(rate, step));
  }
  ++updates;
  return absl::OkStatus();
}

HostTensor TrainerPrograms::Numbers(double rate) const {
  // The update divides sums over ranks by their weights.
  const double factor = plan.joins ? 1 : 1.0 / static_cast<double>(options.accumulate);
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {kStepScalarCount}},
                                StepScalars(plan.optimizer, rate, updates + 1, factor));
}

HostTensor TrainerPrograms::Seed(int64_t batch) const {
  // Ranks draw different numbers for their examples.
  const uint64_t rank = plan.joins ? static_cast<uint64_t>(exchange()->rank()) : 0;
  return HostTensor::FromVector(
      TensorShape{DataType::kUInt32, {2}},
      std::vector<uint32_t>{static_cast<uint32_t>(options.seed + (rank << 20)) * 0x9e3779b9U,
                            static_cast<uint32_t>(batch)});
}

}  // namespace tartan::train
