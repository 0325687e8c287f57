// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/initialize.h"
#include "frontend/train/loss_output.h"
#include "frontend/train/step_profile.h"
#include "frontend/train/train_step.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr char kParameter[] = "parameter/";

std::string KeyOf(const BatchShapes& shapes) {
  std::string key;
  for (const auto& [name, shape] : shapes.inputs) {
    absl::StrAppend(&key, name, " ", shape.ToString(), ";");
  }
  if (shapes.target.has_value()) absl::StrAppend(&key, shapes.target->ToString());
  return key;
}

HostTensor Converted(const HostTensor& value, const TensorShape& shape) {
  if (value.type() == shape.type) return value.Reshaped(shape.dims);
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    StoreElement(shape.type, value.GetDouble(i), i, bytes.data());
  }
  return HostTensor(shape, bytes);
}

absl::Status CheckOptions(const TrainerOptions& options) {
  TARTAN_RETURN_IF_ERROR(options.optimizer.Check());
  if (!(options.clip_norm >= 0) || !(options.clip_value >= 0)) {
    return absl::InvalidArgumentError("gradients are clipped to a positive number");
  }
  if (options.accumulate < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("gradients of ", options.accumulate, " steps cannot be accumulated"));
  }
  return absl::OkStatus();
}

}  // namespace

struct Trainer::Impl {
  // A program, and how it is fed.
  struct Program {
    std::unique_ptr<api::DeviceProgram> program;
    std::vector<api::DeviceTensor> states;  // that it is bound to
    std::optional<size_t> turn;             // the one that the loss alone decides
    bool has_seed = false;
    std::optional<int64_t> classes;
  };

  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<const api::Device> device;
  TrainerOptions options;
  StepPlan plan;
  std::vector<Parameter> parameters;
  std::map<std::string, api::DeviceTensor> tensors;  // by the name of a state
  api::SharedScratch scratch;                        // of all programs
  std::map<std::string, Program> steps;              // by the sizes of a batch
  std::map<std::string, Program> evaluations;
  Program apply;
  int64_t batches = 0;  // started
  int64_t updates = 0;  // started
  int64_t unread = 0;   // batches since sums were read
  int64_t failed_step = 0;
  double compile_ms = 0;
  StepProfile profile;

  absl::StatusOr<BatchShapes> ShapesOf(const api::NamedTensors& inputs,
                                       const HostTensor& target) const;
  static std::vector<HostTensor> ValuesOf(const BatchShapes& shapes,
                                          const api::NamedTensors& inputs,
                                          const HostTensor& target);
  absl::StatusOr<Program> Make(StepGraph graph, absl::string_view name);
  // To its states and the scratch of all: where that is too small, they share one that is not.
  absl::Status Bind(Program* made);
  // The step for batches of these sizes, compiled if it is new.
  absl::StatusOr<const Program*> StepFor(const api::NamedTensors& inputs, const HostTensor& target);
  // Starts the program of a step.
  absl::Status Start(api::DeviceProgram& step, const std::vector<HostTensor>& values);
  absl::StatusOr<api::DeviceTensor> MakeState(const StateSpec& spec) const;
  HostTensor Numbers(double rate) const;
  HostTensor Seed(int64_t batch) const;
};

absl::StatusOr<BatchShapes> Trainer::Impl::ShapesOf(const api::NamedTensors& inputs,
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

std::vector<HostTensor> Trainer::Impl::ValuesOf(const BatchShapes& shapes,
                                                const api::NamedTensors& inputs,
                                                const HostTensor& target) {
  std::vector<HostTensor> values;
  for (const auto& [name, shape] : shapes.inputs) values.push_back(inputs.at(name));
  if (shapes.target.has_value()) values.push_back(target);
  return values;
}

absl::StatusOr<api::DeviceTensor> Trainer::Impl::MakeState(const StateSpec& spec) const {
  if (!absl::StartsWith(spec.name, kParameter))
    return api::DeviceTensor::Zeros(*device, spec.shape);
  const std::string name = spec.name.substr(sizeof(kParameter) - 1);
  for (const Parameter& parameter : parameters) {
    if (parameter.name != name) continue;
    const HostTensor first =
        options.initialize ? InitialValue(parameter, options.seed) : *model->Initializer(name);
    return api::DeviceTensor::FromHost(*device, Converted(first, spec.shape));
  }
  return absl::InternalError(absl::StrCat("there is no parameter '", name, "'"));
}

absl::StatusOr<Trainer::Impl::Program> Trainer::Impl::Make(StepGraph graph,
                                                           absl::string_view name) {
  Program made;
  made.has_seed = graph.has_seed;
  for (const StateSpec& spec : graph.specs) {
    if (spec.name == kSkipped) made.turn = made.states.size();
    auto found = tensors.find(spec.name);
    if (found == tensors.end()) {
      TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor tensor, MakeState(spec));
      found = tensors.emplace(spec.name, std::move(tensor)).first;
    }
    made.states.push_back(found->second);
  }
  api::RunStatistics statistics;
  TARTAN_ASSIGN_OR_RETURN(
      made.program,
      api::DeviceProgram::Create(device, std::move(graph.inputs), std::move(graph.states),
                                 std::move(graph.outputs), name, &statistics));
  compile_ms += statistics.compile_ms + statistics.setup_ms;
  TARTAN_RETURN_IF_ERROR(Bind(&made));
  return made;
}

absl::Status Trainer::Impl::Bind(Program* made) {
  if (made->program->memory().scratch <= scratch.bytes())
    return made->program->Bind(made->states, &scratch);
  std::vector<Program*> others;
  for (auto* programs : {&steps, &evaluations}) {
    for (auto& [key, program] : *programs) others.push_back(&program);
  }
  others.push_back(&apply);
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

absl::StatusOr<const Trainer::Impl::Program*> Trainer::Impl::StepFor(
    const api::NamedTensors& inputs, const HostTensor& target) {
  TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, ShapesOf(inputs, target));
  Program& step = steps[KeyOf(shapes)];
  if (step.program == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildStep(*model, &parameters, plan, shapes));
    const std::optional<int64_t> classes = graph.classes;
    TARTAN_ASSIGN_OR_RETURN(step, Make(std::move(graph), "step"));
    step.classes = classes;
  }
  return &step;
}

absl::Status Trainer::Impl::Start(api::DeviceProgram& step, const std::vector<HostTensor>& values) {
  if (!options.profile) return step.Start(values);
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::KernelProfile> kernels, step.Profile(values));
  profile.Add(std::move(kernels));
  return absl::OkStatus();
}

HostTensor Trainer::Impl::Numbers(double rate) const {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {kStepNumbers}},
                                StepNumbers(plan.optimizer, rate, updates + 1,
                                            1.0 / static_cast<double>(options.accumulate)));
}

HostTensor Trainer::Impl::Seed(int64_t batch) const {
  return HostTensor::FromVector(
      TensorShape{DataType::kUInt32, {2}},
      std::vector<uint32_t>{static_cast<uint32_t>(options.seed) * 0x9e3779b9U,
                            static_cast<uint32_t>(batch)});
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<const api::Device> device,
    TrainerOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Trainer>> {
    TARTAN_RETURN_IF_ERROR(CheckOptions(options));
    if (model->outputs().empty()) return absl::InvalidArgumentError("the model has no outputs");
    auto impl = std::make_unique<Impl>();
    TARTAN_ASSIGN_OR_RETURN(impl->parameters, FindParameters(*model, options.rules));
    impl->plan.mode = options.mode;
    impl->plan.loss = options.loss;
    impl->plan.output = LossOutput(*model, options.loss, options.output);
    impl->plan.optimizer = options.optimizer;
    impl->plan.clip_norm = options.clip_norm;
    impl->plan.clip_value = options.clip_value;
    impl->plan.straight_through = options.straight_through;
    impl->plan.accumulates = options.accumulate > 1;
    impl->model = std::move(model);
    impl->device = std::move(device);
    impl->options = std::move(options);
    return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
  });
}

const std::vector<Parameter>& Trainer::parameters() const { return impl_->parameters; }
const std::string& Trainer::loss_output() const { return impl_->plan.output; }
int64_t Trainer::step() const { return impl_->updates; }
int64_t Trainer::batches() const { return impl_->batches; }
double Trainer::compile_ms() const { return impl_->compile_ms; }
std::vector<api::KernelProfile> Trainer::Profile() const { return impl_->profile.Medians(); }

absl::StatusOr<std::optional<int64_t>> Trainer::CountClasses(const api::NamedTensors& inputs,
                                                             const HostTensor& target) {
  TARTAN_ASSIGN_OR_RETURN(const Impl::Program* step, impl_->StepFor(inputs, target));
  return step->classes;
}

absl::Status Trainer::Step(const api::NamedTensors& inputs, const HostTensor& target, double rate) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    TARTAN_ASSIGN_OR_RETURN(const Impl::Program* step, impl_->StepFor(inputs, target));
    std::vector<HostTensor> values = Impl::ValuesOf(shapes, inputs, target);
    values.push_back(impl_->Numbers(rate));
    if (step->has_seed) values.push_back(impl_->Seed(impl_->batches));
    TARTAN_RETURN_IF_ERROR(impl_->Start(*step->program, values));
    ++impl_->batches;
    ++impl_->unread;
    if (impl_->batches % impl_->options.accumulate != 0) return absl::OkStatus();
    if (impl_->plan.accumulates) {
      if (impl_->apply.program == nullptr) {
        TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildApply(impl_->parameters, impl_->plan));
        TARTAN_ASSIGN_OR_RETURN(impl_->apply, impl_->Make(std::move(graph), "update"));
      }
      TARTAN_RETURN_IF_ERROR(impl_->apply.program->Start({impl_->Numbers(rate)}));
    }
    ++impl_->updates;
    return absl::OkStatus();
  });
}

absl::StatusOr<Progress> Trainer::Read() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Progress> {
    Progress progress;
    progress.steps = std::exchange(impl_->unread, 0);
    const auto sums = impl_->tensors.find(kSums);
    if (sums == impl_->tensors.end()) return progress;
    TARTAN_ASSIGN_OR_RETURN(const HostTensor values, sums->second.ToHost());
    TARTAN_ASSIGN_OR_RETURN(const HostTensor skipped, impl_->tensors.at(kSkipped).ToHost());
    TARTAN_RETURN_IF_ERROR(sums->second.Assign(HostTensor::Zeros(values.shape())));
    if (const int64_t count = skipped.GetInt(0); count > 0) {
      impl_->failed_step = impl_->batches - count + 1;
      return absl::OutOfRangeError(
          absl::StrCat("the loss of step ", impl_->failed_step,
                       " is no finite number; parameters are as they were before it"));
    }
    if (values.GetDouble(kDenominator) > 0)
      progress.loss = values.GetDouble(kNumerator) / values.GetDouble(kDenominator);
    if (values.GetDouble(kCounted) > 0)
      progress.accuracy = values.GetDouble(kCorrect) / values.GetDouble(kCounted);
    return progress;
  });
}

int64_t Trainer::failed_step() const { return impl_->failed_step; }

absl::StatusOr<std::string> Trainer::FindNonFinite(const api::NamedTensors& inputs,
                                                   const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    std::vector<std::string> names;
    TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildSearch(*impl_->model, &impl_->parameters,
                                                         impl_->plan, shapes, &names));
    TARTAN_ASSIGN_OR_RETURN(const Impl::Program search, impl_->Make(std::move(graph), "search"));
    std::vector<HostTensor> values = Impl::ValuesOf(shapes, inputs, target);
    if (search.has_seed) values.push_back(impl_->Seed(impl_->failed_step - 1));
    TARTAN_RETURN_IF_ERROR(search.program->Start(values));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> counts, search.program->Outputs());
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i].GetInt(0) != 0) return names[i];
    }
    return absl::NotFoundError("all values are finite");
  });
}

absl::StatusOr<Evaluation> Trainer::Evaluate(const api::NamedTensors& inputs,
                                             const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Evaluation> {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    Impl::Program& evaluation = impl_->evaluations[KeyOf(shapes)];
    if (evaluation.program == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          StepGraph graph, BuildEvaluation(*impl_->model, &impl_->parameters, impl_->plan, shapes));
      TARTAN_ASSIGN_OR_RETURN(evaluation, impl_->Make(std::move(graph), "evaluation"));
    }
    TARTAN_RETURN_IF_ERROR(evaluation.program->Start(Impl::ValuesOf(shapes, inputs, target)));
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, evaluation.program->Outputs());
    Evaluation result;
    for (const double value : outputs[0].ToDoubles()) result.numerator += value;
    for (const double value : outputs[1].ToDoubles()) result.denominator += value;
    result.output = std::move(outputs[2]);
    return result;
  });
}

absl::StatusOr<std::map<std::string, HostTensor>> Trainer::Values() {
  std::map<std::string, HostTensor> values;
  for (const Parameter& parameter : impl_->parameters) {
    const auto found = impl_->tensors.find(absl::StrCat(kParameter, parameter.name));
    if (found == impl_->tensors.end()) {
      if (impl_->options.initialize && parameter.is_trained)
        values[parameter.name] = InitialValue(parameter, impl_->options.seed);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(const HostTensor value, found->second.ToHost());
    values[parameter.name] = Converted(value, parameter.shape);
  }
  return values;
}

absl::StatusOr<TrainerState> Trainer::Save() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TrainerState> {
    TrainerState state;
    state.step = impl_->updates;
    for (const auto& [name, tensor] : impl_->tensors) {
      if (name == kSums || name == kSkipped) continue;
      TARTAN_ASSIGN_OR_RETURN(state.tensors[name], tensor.ToHost());
    }
    return state;
  });
}

absl::Status Trainer::Restore(const TrainerState& state) {
  return CatchOutOfMemory([&]() -> absl::Status {
    for (const auto& [name, value] : state.tensors) {
      const size_t slash = name.find('/');
      const std::string parameter = slash == std::string::npos ? "" : name.substr(slash + 1);
      const auto known = std::find_if(impl_->parameters.begin(), impl_->parameters.end(),
                                      [&](const Parameter& p) { return p.name == parameter; });
      if (known == impl_->parameters.end() || known->shape.dims != value.shape().dims) {
        return absl::InvalidArgumentError(absl::StrCat("the state has '", name, "' ",
                                                       value.shape().ToString(),
                                                       ", which the model does not have"));
      }
      const auto found = impl_->tensors.find(name);
      if (found != impl_->tensors.end()) {
        TARTAN_RETURN_IF_ERROR(found->second.Assign(value));
        continue;
      }
      TARTAN_ASSIGN_OR_RETURN(impl_->tensors[name],
                              api::DeviceTensor::FromHost(*impl_->device, value));
    }
    impl_->updates = state.step;
    impl_->batches = state.step * impl_->options.accumulate;
    impl_->unread = 0;
    return absl::OkStatus();
  });
}

Trainer::Memory Trainer::memory() const {
  Memory memory;
  for (const auto& [name, tensor] : impl_->tensors) {
    (absl::StartsWith(name, kParameter) ? memory.parameters : memory.state) +=
        tensor.shape().byte_size();
  }
  int64_t most = 0;
  for (const auto& [key, step] : impl_->steps) {
    if (step.program == nullptr) continue;
    const api::ProgramMemory used = step.program->memory(step.turn);
    memory.constants += used.constants;
    if (used.scratch <= most) continue;
    most = used.scratch;
    memory.batch = used.inputs;
    memory.kept = used.kept;
  }
  for (const auto& [key, evaluation] : impl_->evaluations) {
    if (evaluation.program != nullptr) memory.constants += evaluation.program->memory().constants;
  }
  if (impl_->apply.program != nullptr) memory.constants += impl_->apply.program->memory().constants;
  memory.scratch = impl_->scratch.bytes() - memory.batch - memory.kept;
  return memory;
}

int64_t Trainer::kernels() const {
  for (const auto& [key, step] : impl_->steps) {
    if (step.program != nullptr) return step.program->kernels();
  }
  return 0;
}

}  // namespace tartan::train
